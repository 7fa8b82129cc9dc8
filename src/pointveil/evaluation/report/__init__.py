"""Two pages: the owner's report with real points, and the page of a release without any."""
