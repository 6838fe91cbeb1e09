import { createChanges } from './changes.ts';
import { type AccountPorts, createDesk } from './desk.ts';
import { createFactors } from './factors.ts';
import { createPasswordChanges, createResets } from './passwords.ts';
import type { Accounts } from './ports.ts';
import { createSigning } from './signing.ts';
import { createSignUp } from './signup.ts';
import { createVisits } from './visits.ts';

/** Accounts of people. */
export function createAccountsOver(ports: AccountPorts): Accounts {
  const desk = createDesk(ports);
  const { identity, registrationOpen } = ports;
  return {
    ...createSignUp(desk),
    ...createSigning(desk),
    ...createVisits(desk),
    ...createChanges(desk),
    ...createPasswordChanges(desk),
    ...createResets(desk),
    ...createFactors(desk),
    get registrationOpen() {
      return registrationOpen();
    },
    issueToken: (userId) => identity.issue(userId, 'user'),
    revokeToken: (userId, tokenId) => identity.revoke(userId, tokenId),
    proof: async (text) => (await desk.keys()).proof(text),
    idle: () => desk.post.idle(),
  };
}
