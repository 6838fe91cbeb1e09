import { Type } from 'typebox';
import { Quality, sessionOpcode } from './opcode.ts';

const SSRC = /^[0-9]{1,10}$/;
const SSRC_MAX = 0xffff_ffff;
/** Most primary SSRCs in one message: more than the default `call_members_max`. */
const SSRCS_MAX = 2048;
/** Default of `any`: a client that omits it wants full quality of all other streams, as without this message. */
const ANY_DEFAULT = 100;

const Wants = Type.Object({ any: Type.Optional(Quality) });

/** Op 15. The object also has keys that are not SSRCs, such as `pixelCounts`; they are ignored. */
export const mediaSinkWants = sessionOpcode(Wants, (session, d) => {
  const bySsrc = new Map<number, number>();
  for (const [key, quality] of Object.entries(d)) {
    if (!SSRC.test(key)) continue;
    const ssrc = Number(key);
    const fits = typeof quality === 'number' && quality >= 0 && quality <= 100;
    if (!fits || ssrc > SSRC_MAX || bySsrc.size >= SSRCS_MAX) return false;
    bySsrc.set(ssrc, quality);
  }
  session.sinkWants({ any: d.any ?? ANY_DEFAULT, bySsrc });
  return true;
});
