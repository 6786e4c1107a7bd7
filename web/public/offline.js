// Goes back to the app once the server answers.

const EVERY = 2000;

async function look() {
  try {
    const answer = await fetch("/healthz", { cache: "no-store" });
    if (answer.ok) location.reload();
  } catch {
    // Not yet.
  }
}

setInterval(look, EVERY);
addEventListener("online", look);
