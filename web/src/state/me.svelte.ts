/** Who is signed in here. */

import { asProblem, call, hooks, type Problem } from "../api/client";
import type { Me, SignInBody } from "../api/types";

class Identity {
  /** Undefined until it is known, null if nobody is. */
  who: Me | null | undefined = $state.raw();
  problem: Problem | null = $state.raw(null);

  constructor() {
    hooks.signedOut = () => {
      this.who = null;
    };
  }

  get isAdmin(): boolean {
    return this.who?.user.role === "admin";
  }

  async load(): Promise<void> {
    this.problem = null;
    try {
      this.who = await call("GET /api/me");
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status !== 401) this.problem = problem;
    }
  }

  async signIn(with_: SignInBody): Promise<void> {
    await call("POST /api/sign-in", { body: with_ });
    await this.load();
  }

  async signOut(): Promise<void> {
    await call("POST /api/sign-out");
    this.who = null;
  }
}

export const me = new Identity();
