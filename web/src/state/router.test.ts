import { expect, test } from "vitest";
import { pathOf, placeOf, router } from "./router.svelte";

test("every place has an address that leads back to it", () => {
  for (const path of ["/", "/s/ses_1", "/s/ses_1?m=msg_1", "/settings/usage", "/sign-in"]) {
    expect(pathOf(placeOf(path))).toBe(path);
  }
});

test("an address that nobody knows is a new chat", () => {
  expect(placeOf("/no/such/page")).toEqual({ page: "chat", session: null });
});

test("back leads to the session before", async () => {
  router.open("ses_1");
  router.open("ses_2");
  history.back();
  await new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
  expect(router.session).toBe("ses_1");
});
