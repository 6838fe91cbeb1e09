import { createBrowserSessions } from './browsersessions.ts';
import { type AccountPorts, createAccountContext } from './context.ts';
import { createPasswordChanges, createResets } from './passwords.ts';
import type { Accounts } from './ports.ts';
import { createProfile } from './profile.ts';
import { createSecondFactor } from './secondfactor.ts';
import { createSignIn } from './signin.ts';
import { createSignUp } from './signup.ts';

/** Joins the parts of accounts over their ports. */
export function assembleAccounts(ports: AccountPorts): Accounts {
  const context = createAccountContext(ports);
  const { identity, registrationOpen } = ports;
  return {
    ...createSignUp(context),
    ...createSignIn(context),
    ...createBrowserSessions(context),
    ...createProfile(context),
    ...createPasswordChanges(context),
    ...createResets(context),
    ...createSecondFactor(context),
    get registrationOpen() {
      return registrationOpen();
    },
    issueToken: (userId) => identity.issue(userId, 'user'),
    revokeToken: (userId, tokenId) => identity.revoke(userId, tokenId),
    digest: async (text) => (await context.keys()).digest(text),
    idle: () => context.mailQueue.idle(),
  };
}
