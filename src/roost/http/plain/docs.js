"use strict";

function made(tag, text, ...children) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
}

function nameOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(nameOf).join(" or ");
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" or ");
  if (schema.type === "array") return `list of ${nameOf(schema.items) || "anything"}`;
  return schema.type || "anything";
}

function fieldRows(schema) {
  const required = new Set(schema.required || []);
  return Object.entries(schema.properties || {}).map(([name, each]) =>
    made("li", "", made("code", name), ` ${nameOf(each)}${required.has(name) ? ", required" : ""}`),
  );
}

function parameterRows(parameters) {
  return parameters.map((each) =>
    made("li", "", made("code", each.name), ` in the ${each.in}, ${nameOf(each.schema)}`),
  );
}

function shown(title, rows) {
  return rows.length ? [made("h4", title), made("ul", "", ...rows)] : [];
}

function operation(method, path, each, schemas) {
  const body = Object.values(each.requestBody?.content || {})[0]?.schema;
  const reply = Object.entries(each.responses).find(([status]) => status < "300");
  const [status, answer] = reply;
  const content = Object.entries(answer.content || {})[0];
  const resolved = (schema) => schemas[nameOf(schema)] || schema || {};
  return made(
    "details",
    "",
    made("summary", "", made("b", method.toUpperCase()), made("code", path), each.summary),
    made("p", each.description || resolved(body).description || ""),
    ...shown("Parameters", parameterRows(each.parameters)),
    ...shown("Body", fieldRows(resolved(body))),
    made("p", `Answers ${status}${content ? `, ${content[0]} ${nameOf(content[1].schema)}` : ""}`),
    ...shown("Answer", content ? fieldRows(resolved(content[1].schema)) : []),
  );
}

async function show() {
  const described = await (await fetch("/api/openapi.json")).json();
  const groups = new Map();
  for (const [path, methods] of Object.entries(described.paths)) {
    for (const [method, each] of Object.entries(methods)) {
      const tag = each.tags[0];
      if (!groups.has(tag)) groups.set(tag, made("section", "", made("h2", tag)));
      groups.get(tag).append(operation(method, path, each, described.components.schemas));
    }
  }
  document.getElementById("operations").replaceChildren(...groups.values());
}

show().catch(() => {
  document.getElementById("said").textContent = "The list can't be read. Load this page again.";
});
