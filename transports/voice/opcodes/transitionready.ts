import { sessionOpcode, TransitionId } from './opcode.ts';

/** Op 23. */
export const transitionReady = sessionOpcode(TransitionId, (session, d) => {
  session.transitionReady(d.transition_id);
  return true;
});
