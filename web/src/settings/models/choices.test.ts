import { expect, test } from "vitest";
import { options } from "./choices";

const model = (name: string) => ({ name, provider: "p", model: name, context: null });

test("nothing chosen comes first, then the models", () => {
  const found = options([model("p/a"), model("p/b")], "p/b", "Standard");
  expect(found.map((each) => each.value)).toEqual(["", "p/a", "p/b"]);
  expect(found[0]?.label).toBe("Standard");
});

test("a model that is offered no more is still shown as chosen", () => {
  const found = options([model("p/a")], "old/model", "Standard");
  expect(found.map((each) => each.value)).toEqual(["", "old/model", "p/a"]);
});
