// Goal: of bent MLS messages, none makes the delivery service throw or stall, or takes the group from those who behave.
import { peekCommit, readCommit, readKeyPackage, snowflakeBytes } from '../../media/dave/mls.ts';
import { hasCommitOutline } from '../../media/dave/skim.ts';
import { VOICE_OP } from '../../protocol/voice.ts';
import { DaveyCall, GROUP_ID, user } from '../media/dave/daveycall.ts';
import { commits, keyPackage } from '../media/dave/messages.ts';
import { Random } from './random.ts';
import { type Target, Watch } from './watch.ts';

const { DAVE_MLS_KEY_PACKAGE, DAVE_MLS_COMMIT_WELCOME } = VOICE_OP;
const GUEST = user(77);
const GROUP = snowflakeBytes(GROUP_ID);
const MESSAGES_PER_CALL = 2000;

/** Changed, cut, lengthened, or with a piece missing or doubled. */
function bent(random: Random, bytes: Buffer): Buffer {
  const [from, to] = [random.below(bytes.length), random.below(bytes.length)];
  const kind = random.below(5);
  if (kind === 0) return Buffer.concat([bytes, random.bytes(40)]);
  if (kind === 1) return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  if (kind === 2) {
    const copy = Buffer.from(bytes);
    copy[from] = random.pick([0, 1, 0x3f, 0x40, 0x80, 0xbf, 0xc0, 0xff]);
    return copy;
  }
  return random.mangled(bytes);
}

/** Fuzzes the readers of op 26 and 28. */
export const fuzzMls: Target = (messages, seed) => {
  const random = new Random(seed);
  const watch = new Watch();
  const packages = [keyPackage(GUEST)];
  packages.push(Buffer.concat([Buffer.of(0, 1, 0, 5), packages[0]!]));
  const known = commits();
  while (watch.inputs < messages) {
    const isPackage = random.next() < 0.3;
    const bytes = bent(random, random.pick(isPackage ? packages : known));
    try {
      watch.timeAgain(() => {
        if (isPackage) {
          const read = readKeyPackage(bytes, GUEST);
          watch.count(typeof read === 'string' ? read : 'a package');
          return;
        }
        peekCommit(bytes, GROUP);
        const read = readCommit(bytes, 50);
        watch.count(read === null ? 'no commit' : 'a commit');
        if (read !== null && !hasCommitOutline(bytes, 26)) throw new Error('A commit without its outline.');
      });
    } catch (cause) {
      throw new Error(`It threw for ${bytes.toString('hex')}`, { cause });
    }
  }
  return watch;
};

/** A call of three in which a fourth bends all that it sends; the three are one group at the end. */
export const fuzzDelivery: Target = (messages, seed) => {
  const random = new Random(seed);
  const watch = new Watch();
  while (watch.inputs < messages) {
    const call = new DaveyCall(random.below(2 ** 31));
    for (let index = 0; index < 3; index += 1) call.join(user(index));
    call.rest();
    const known = [keyPackage(GUEST), ...commits()];
    for (let left = MESSAGES_PER_CALL; left > 0 && watch.inputs < messages; ) {
      call.invite(GUEST);
      for (let more = 1 + random.below(20); more > 0; more -= 1, left -= 1) {
        const bytes = bent(random, random.pick(known));
        const op = random.next() < 0.5 ? DAVE_MLS_KEY_PACKAGE : DAVE_MLS_COMMIT_WELCOME;
        watch.time(() => call.say(GUEST, op, bytes));
      }
      for (const { code } of call.closes()) watch.count(code);
      call.pass(random.below(300));
      call.carry(call.delivery.leave(GUEST, call.nowMs));
      call.guests.delete(GUEST);
      call.effects.length = 0;
    }
    call.rest();
    expectOneGroup(call);
  }
  return watch;
};

function expectOneGroup(call: DaveyCall): void {
  const members = [...call.clients.values()];
  const codes = new Set(members.map(({ group }) => group.voicePrivacyCode));
  if (codes.size !== 1 || members.length !== 3 || members.some(({ group }) => !group.ready))
    throw new Error('The others are not one group any more.');
}
