"use strict";

const said = document.getElementById("said");
const form = document.getElementById("password");

async function signIn(body) {
  said.textContent = "Signing in…";
  try {
    const response = await fetch("/api/sign-in", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (response.ok) {
      location.replace("/");
      return;
    }
    said.textContent = (await response.json()).detail;
  } catch {
    said.textContent = "Roost can't be reached. Try again.";
  }
  form.hidden = false;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = new FormData(form);
  signIn({ name: given.get("name"), password: given.get("password") });
});

// The secret stands behind the #, which browsers send to nobody; nor does it stay in the history.
const secret = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
if (secret) {
  signIn({ secret });
} else {
  form.hidden = false;
}
