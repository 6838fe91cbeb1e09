// Goal: `guildhall calls` shows who is in a call and how media come through: once, every second, or as lines for tools.
import { describe, expect, test } from 'vitest';
import type { CallListing } from '../../embedding.ts';
import { fakeEngine, type Ran, type RunOptions, run } from './arrange.ts';

type Member = CallListing['members'][number];

const member = (userId: string, more: Partial<Member> = {}): Member => ({
  ...{ userId, ssrc: 1, transport: 'udp', attached: true, connected: true },
  ...{ silenced: false, deafened: false, speaking: false },
  media: { packetsIn: 120, packetsOut: 110, bytesIn: 9000, bytesOut: 8000, loss: 0.012, jitterMs: 0.44 },
  ...more,
});

const call = (callId: string, members: readonly Member[], more: Partial<CallListing> = {}): CallListing => ({
  ...{ callId, serverId: '77', guildId: '77', ageMs: 61_000, members },
  dave: { version: 1, epoch: '3', phase: 'secure' },
  ...more,
});

interface Arranged extends Pick<RunOptions, 'rows' | 'whilePausing' | 'whileRunning'> {
  readonly voice?: boolean;
}

/** Runs `calls` against a server where these are on. */
async function calls(
  listings: readonly CallListing[],
  flags: readonly string[] = [],
  { voice = true, ...options }: Arranged = {},
): Promise<Ran> {
  let ran: Ran | undefined;
  const argv = ['dev', '--json', '--port', '0', ...(voice ? [] : ['--set', 'voice=false'])];
  await run(argv, {
    engine: (config) => fakeEngine(config, listings),
    whileRunning: async ([line]) => {
      const { admin } = JSON.parse(line!);
      const env = { GUILDHALL_ADMIN_URL: admin.url, GUILDHALL_ADMIN_TOKEN: admin.token };
      ran = await run(['calls', ...flags], { env, ...options });
    },
  });
  return ran!;
}

describe('one report of calls', () => {
  test('prints a call, its encryption and the media of each member', async () => {
    const { out, exitCode } = await calls([
      call('501', [
        member('1001', { speaking: true }),
        member('1002', { transport: 'webrtc', silenced: true, deafened: true, speaking: true }),
        member('1003', { ssrc: null, transport: 'none', attached: false, connected: false, media: null }),
        member('1004', { attached: false }),
        member('1005', { connected: false }),
      ]),
    ]);
    expect(exitCode).toBe(0);
    expect(out.join('\n').split('\n')).toEqual([
      '1 call, 5 members',
      '',
      'call 501   guild 77   1 min 1 s   DAVE epoch 3 secure   5 members',
      '  user  transport  state        packets in  out   loss  jitter',
      '  1001  udp        speaking            120  110  1.2 %  0.4 ms',
      '  1002  webrtc     muted, deaf         120  110  1.2 %  0.4 ms',
      '  1003  –          invited               –    –      –       –',
      '  1004  udp        away                120  110  1.2 %  0.4 ms',
      '  1005  udp        connecting          120  110  1.2 %  0.4 ms',
    ]);
  });

  test.each([
    [{ guildId: null }, 'call 501   private   1 min 1 s   DAVE epoch 3 secure   1 member'],
    [{ ageMs: 999 }, 'call 501   guild 77   0 s   DAVE epoch 3 secure   1 member'],
    [{ ageMs: 7_260_000 }, 'call 501   guild 77   2 h 1 min   DAVE epoch 3 secure   1 member'],
    [
      { dave: { version: 0, epoch: null, phase: 'plain' } },
      'call 501   guild 77   1 min 1 s   no DAVE   1 member',
    ],
    [
      { dave: { version: 1, epoch: null, phase: 'negotiating' } },
      'call 501   guild 77   1 min 1 s   DAVE negotiating   1 member',
    ],
  ])('prints the heading of a call that is %j', async (more, head) => {
    const { out } = await calls([call('501', [member('1')], more)]);
    expect(out[0]!.split('\n')[2]).toBe(head);
  });

  test('prints the next step when there are no calls, and how to enable voice when it is off', async () => {
    expect((await calls([])).out.join('\n')).toContain('Next: guildhall connect @discordjs/voice');
    const off = await calls([], [], { voice: false });
    expect(off.exitCode).toBe(1);
    expect(off.err.join('\n')).toMatch(/serves no calls.+Set voice to true/s);
  });

  test('prints the command for the next page when more calls exist', async () => {
    const { out } = await calls([call('3', []), call('501', [member('1')]), call('9', [])], ['--limit', '2']);
    expect(out[0]).toContain('3 calls, 2 of them here, 0 members');
    expect(out[0]!.split('\n').at(-1)).toBe('There may be more. Next: guildhall calls --after 9');
    const rest = await calls([call('3', []), call('501', [member('1')])], ['--after', '3']);
    expect(rest.out[0]).toContain('call 501');
    expect(rest.out[0]).not.toContain('call 3 ');
  });

  test('prints one line of JSON for tools', async () => {
    const { out } = await calls([call('501', [member('1')])], ['--json'], { rows: 40 });
    expect(out).toHaveLength(1);
    expect(JSON.parse(out[0]!)).toMatchObject({
      ...{ voice: true, total: 1 },
      calls: [{ call_id: '501', members: [{ user_id: '1', media: { packets_in: 120, jitter_ms: 0.44 } }] }],
    });
  });

  test('prints once on a terminal with --once', async () => {
    const { out } = await calls([call('501', [member('1')])], ['--once'], { rows: 40 });
    expect(out).toHaveLength(1);
    expect(out[0]).toMatch(/^1 call, 1 member\n/);
  });
});

describe('repeated reports of calls', () => {
  /** Stops the command after three reads. */
  function threeLooks() {
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    let looks = 0;
    return {
      whilePausing: async () => {
        looks += 1;
        if (looks === 3) stop();
        // The stop comes first of the two that are waited for.
        await new Promise((resolve) => setImmediate(resolve));
      },
      whileRunning: () => stopped,
    };
  }

  test('redraws a terminal in place, and omits lines that do not fit', async () => {
    const members = Array.from({ length: 20 }, (_, at) => member(String(1000 + at)));
    const { out } = await calls([call('501', members)], [], { rows: 10, ...threeLooks() });
    expect(out).toHaveLength(3);
    for (const drawn of out) {
      expect(drawn.startsWith('\u001b[H\u001b[J1 call, 20 members\n')).toBe(true);
      const lines = drawn.split('\n');
      expect(lines).toHaveLength(9);
      expect(lines.at(-1)).toBe('… 16 lines more: a larger window, or --json');
    }
  });

  test('prints updates one after the other when the output is no terminal', async () => {
    const { out } = await calls([call('501', [member('1')])], ['--watch'], threeLooks());
    expect(out).toHaveLength(3);
    expect(out[2]).toMatch(/^1 call, 1 member\n/);
    const lines = await calls([], ['--watch', '--json'], threeLooks());
    expect(lines.out.map((line) => JSON.parse(line).total)).toEqual([0, 0, 0]);
  });
});
