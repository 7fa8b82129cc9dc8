"use strict";
// Keep the secret for this tab, then go on without the token in the address.
const held = document.querySelector("meta[name=secret]");
sessionStorage.setItem("pointveil-secret", held.content);
held.remove();
location.replace("/");
