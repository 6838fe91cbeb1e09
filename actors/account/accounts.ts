import { createChanges } from './changes.ts';
import { type AccountPorts, createDesk } from './desk.ts';
import { createFactors } from './factors.ts';
import type { Accounts } from './ports.ts';
import { createSigning } from './signing.ts';
import { createSignUp } from './signup.ts';
import { createVisits } from './visits.ts';

/** Accounts of people, with the way to wait for letters that are still being sent. */
export function createAccountsOver(ports: AccountPorts): Accounts & { idle(): Promise<void> } {
  const desk = createDesk(ports);
  const { identity, registrationOpen } = ports;
  return {
    ...createSignUp(desk),
    ...createSigning(desk),
    ...createVisits(desk),
    ...createChanges(desk),
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
