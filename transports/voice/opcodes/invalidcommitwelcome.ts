import { sessionOpcode, TransitionId } from './opcode.ts';

/** Op 31. */
export const invalidCommitWelcome = sessionOpcode(TransitionId, (session, d) => {
  session.invalidCommitWelcome(d.transition_id);
  return true;
});
