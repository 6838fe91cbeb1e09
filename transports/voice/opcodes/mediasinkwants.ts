import { Type } from 'typebox';
import { Quality, sessionOpcode } from './opcode.ts';

const SSRC = /^[0-9]{1,10}$/;
const SSRC_MAX = 0xffff_ffff;
/** Primary SSRCs that one client may name: more than a call has members by default. */
const SSRCS_MAX = 2048;
/** A client that says nothing of all the others wants them as it did before it said anything. */
const ANY_DEFAULT = 100;

const Wants = Type.Object({ any: Type.Optional(Quality) });

/** Op 15. Beside SSRCs the object has keys of other kinds, `pixelCounts` for one; they say nothing here. */
export const mediaSinkWants = sessionOpcode(Wants, (session, d) => {
  const bySsrc = new Map<number, number>();
  for (const [key, quality] of Object.entries(d as Record<string, unknown>)) {
    if (!SSRC.test(key)) continue;
    const ssrc = Number(key);
    const fits = typeof quality === 'number' && quality >= 0 && quality <= 100;
    if (!fits || ssrc > SSRC_MAX || bySsrc.size >= SSRCS_MAX) return false;
    bySsrc.set(ssrc, quality);
  }
  session.sinkWants({ any: d.any ?? ANY_DEFAULT, bySsrc });
  return true;
});
