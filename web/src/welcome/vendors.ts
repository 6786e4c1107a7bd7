/** Those who serve models, as the form asks about them. */

import type { NewProvider, ProviderView } from "../api/types";
import { t } from "../text/text";

export type Vendor = keyof typeof t.welcome.vendors;

/** Programs on one's own machine: where they usually are. They need no key. */
const OWN: Partial<Record<Vendor, string>> = {
  ollama: "http://127.0.0.1:11434/v1",
  lmstudio: "http://127.0.0.1:1234/v1",
  llamacpp: "http://127.0.0.1:8080/v1",
  vllm: "http://127.0.0.1:8000/v1",
};

export const VENDORS = Object.keys(t.welcome.vendors) as Vendor[];

export function usualAddress(vendor: Vendor): string | null {
  return OWN[vendor] ?? null;
}

export function needsAddress(vendor: Vendor): boolean {
  return vendor === "azure" || vendor === "compatible";
}

export function needsKey(vendor: Vendor): boolean {
  return !OWN[vendor] && vendor !== "compatible";
}

export type Entered = {
  vendor: Vendor;
  name: string;
  address: string;
  key: string;
  models: string;
};

export type Errors = { name?: string; address?: string; key?: string };

/** What is missing, in words. One that is there already keeps its key. */
export function missing(entered: Entered, before: ProviderView | null): Errors {
  const { vendor, address, key } = entered;
  const errors: Errors = {};
  if (needsAddress(vendor) && !address.trim()) errors.address = t.welcome.baseUrlMissing;
  if (needsKey(vendor) && !key.trim() && !before?.has_key) errors.key = t.welcome.keyMissing;
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(entered.name.trim()))
    errors.name = t.welcome.providerNameHint;
  return errors;
}

export function asProvider({ vendor, address, key, models }: Entered): NewProvider {
  const names = models
    .split(/[\s,]+/)
    .map((each) => each.trim())
    .filter(Boolean);
  return {
    vendor,
    ...(address.trim() ? { base_url: address.trim() } : {}),
    ...(key.trim() ? { key: key.trim() } : {}),
    ...(names.length ? { models: names } : {}),
  };
}

/** A name that no other provider has. */
export function freshName(vendor: Vendor, taken: string[]): string {
  let name: string = vendor;
  for (let n = 2; taken.includes(name); n++) name = `${vendor}-${n}`;
  return name;
}
