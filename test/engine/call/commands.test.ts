// Goal: every command of a call has the dispatches that its row promises, and none for a user who is not connected.
import { describe, expect, it } from 'vitest';
import type { CallDispatch } from '../../../engine/call/dispatch.ts';
import { type CallCommands, callRules } from '../../../engine/call/rules.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { VOICE_CLOSE, VOICE_OP } from '../../../protocol/voice.ts';
import { ANN, BEN, CallWorld, codec, layerOf, memberWith, UDP, videoOf } from './world.ts';

const peer = (userId: UserId, ssrc: number, selection: number) => ({ userId, ssrc, selection });
const WEBRTC = { protocol: 'webrtc', fragment: 'offer', codecs: [] } as const;

/** What a dispatch is and which frame it has, in a word. */
const brief = (dispatch: CallDispatch): string =>
  'op' in dispatch ? `${dispatch.kind} ${dispatch.op}` : dispatch.kind;

/** A call with Ann (SSRC 10) and Ben (SSRC 20), both with video. */
function pair(): CallWorld {
  const world = new CallWorld();
  world.enter(ANN, 10);
  world.enter(BEN, 20);
  return world;
}

type Row = (world: CallWorld) => CallDispatch[];

const ROWS: Record<
  keyof CallCommands,
  readonly (readonly [claim: string, run: Row, dispatches: string[]])[]
> = {
  enter: [
    [
      'introduces the member and the others to each other',
      (world) => world.enter('103' as UserId, 30),
      [
        'sinkWants',
        'gate',
        'toMemberOnce 2',
        ...['toMember 11', 'toMember 5', 'toMember 5', 'toOthers 11', 'toOthers 5'],
      ],
    ],
    ['changes nothing for a user who is a member', (world) => world.enter(ANN, 99), []],
  ],
  leave: [
    [
      'removes the member from media, from the list of the others and from the group',
      (world) => world.run('leave', { userId: ANN }),
      ['leave', 'toOthers 13', 'leaveGroup'],
    ],
  ],
  changeMember: [
    [
      'closes the gate of a silenced member',
      (world) => world.run('changeMember', { userId: ANN, voiceMember: memberWith(ANN, { silenced: true }) }),
      ['gate'],
    ],
    [
      'sends nothing when no right has changed',
      (world) => world.run('changeMember', { userId: ANN, voiceMember: memberWith(ANN) }),
      [],
    ],
    [
      'hides the video of a member who may stream no more',
      (world) => {
        world.run('film', { userId: ANN, update: videoOf(10) });
        return world.run('changeMember', { userId: ANN, voiceMember: memberWith(ANN, { mayStream: false }) });
      },
      ['gate', 'streams', 'toOthers 12'],
    ],
  ],
  changeAudience: [
    [
      'sets the listeners',
      (world) => world.run('changeAudience', { userId: ANN, audience: new Set([BEN]) }),
      ['audience'],
    ],
  ],
  introduceOthers: [
    [
      'sends the others again',
      (world) => world.run('introduceOthers', { userId: ANN }),
      ['toMember 11', 'toMember 5'],
    ],
  ],
  speak: [
    [
      'announces the flags, and when they may change again',
      (world) => world.run('speak', { userId: ANN, flags: 1 }),
      ['spoke', 'toOthers 5', 'announceLater'],
    ],
    [
      'holds back flags that change within a tenth of a second',
      (world) => {
        world.run('speak', { userId: ANN, flags: 1 });
        world.nowMs += 99;
        return world.run('speak', { userId: ANN, flags: 0 });
      },
      [],
    ],
  ],
  hear: [
    [
      'announces audio that arrives without a claim',
      (world) => world.run('hear', { userId: ANN, isReceived: true }),
      ['spoke', 'toOthers 5', 'announceLater'],
    ],
  ],
  announceSpeaking: [
    [
      'announces the flags that were held back',
      (world) => {
        world.run('speak', { userId: ANN, flags: 1 });
        world.run('speak', { userId: ANN, flags: 0 });
        world.nowMs += 100;
        return world.run('announceSpeaking', { userId: ANN });
      },
      ['toOthers 5', 'announceLater'],
    ],
    ['sends nothing twice', (world) => world.run('announceSpeaking', { userId: ANN }), []],
  ],
  film: [
    [
      'shows the video and asks for its layers',
      (world) => world.run('film', { userId: ANN, update: videoOf(10) }),
      ['streams', 'toOthers 12', 'toMember 15'],
    ],
  ],
  wantLayers: [
    [
      'asks the sender to stop a layer that nobody wants',
      (world) => {
        world.run('film', { userId: ANN, update: videoOf(10) });
        return world.run('wantLayers', { userId: BEN, wants: { any: 0, bySsrc: new Map() } });
      },
      ['sinkWants', 'toMember 15'],
    ],
  ],
  offerCodecs: [
    [
      'changes the codec of members who cannot be decoded any more',
      (world) => {
        const codecs = [codec('VP8', 1), codec('H264', 2)];
        world.run('selectProtocol', { userId: ANN, select: { ...UDP, codecs }, address: null });
        return world.run('offerCodecs', { userId: BEN, codecs: [codec('H264')] });
      },
      ['payloadTypes', 'toMember 14'],
    ],
  ],
  selectProtocol: [
    [
      'connects UDP and describes the session',
      (world) => world.run('selectProtocol', { userId: ANN, select: UDP, address: null }),
      ['udp', 'describe'],
    ],
    [
      'requests a peer connection',
      (world) => world.run('selectProtocol', { userId: ANN, select: WEBRTC, address: null }),
      ['requestPeer'],
    ],
    [
      'closes a connection that names an unknown mode',
      (world) =>
        world.run('selectProtocol', { userId: ANN, select: { ...UDP, mode: 'rot13' }, address: null }),
      ['close'],
    ],
    [
      'closes a connection at the seventeenth attempt without media',
      (world) => {
        for (let attempt = 1; attempt <= 16; attempt += 1)
          world.run('selectProtocol', { userId: ANN, select: UDP, address: null });
        return world.run('selectProtocol', { userId: ANN, select: UDP, address: null });
      },
      ['close'],
    ],
  ],
  answerPeer: [
    [
      'describes the session',
      (world) => {
        world.run('selectProtocol', { userId: ANN, select: WEBRTC, address: null });
        return world.run('answerPeer', { ...peer(ANN, 10, 1), sdp: 'answer' });
      },
      ['describe'],
    ],
    [
      'closes the connection when the SDP cannot be used',
      (world) => {
        world.run('selectProtocol', { userId: ANN, select: WEBRTC, address: null });
        return world.run('answerPeer', { ...peer(ANN, 10, 1), sdp: null });
      },
      ['close'],
    ],
    [
      'ignores the answer to an earlier Select Protocol',
      (world) => {
        world.run('selectProtocol', { userId: ANN, select: WEBRTC, address: null });
        world.run('selectProtocol', { userId: ANN, select: WEBRTC, address: null });
        return world.run('answerPeer', { ...peer(ANN, 10, 1), sdp: 'answer' });
      },
      [],
    ],
    [
      'ignores the answer to an earlier voice session of the user',
      (world) => {
        world.run('leave', { userId: ANN });
        world.enter(ANN, 30);
        return world.run('answerPeer', { ...peer(ANN, 10, 0), sdp: 'answer' });
      },
      [],
    ],
  ],
  failPeer: [
    ['closes the connection', (world) => world.run('failPeer', peer(ANN, 10, 0)), ['close']],
    ['ignores another selection', (world) => world.run('failPeer', peer(ANN, 10, 7)), []],
  ],
  reachMedia: [
    ['sends nothing', (world) => world.run('reachMedia', { userId: ANN }), []],
    [
      'lets the client select sixteen times again',
      (world) => {
        for (let attempt = 1; attempt <= 16; attempt += 1)
          world.run('selectProtocol', { userId: ANN, select: UDP, address: null });
        world.run('reachMedia', { userId: ANN });
        return world.run('selectProtocol', { userId: ANN, select: UDP, address: null });
      },
      ['udp', 'describe'],
    ],
  ],
  loseMedia: [
    [
      'keeps a UDP client, which returns with its next packet',
      (world) => {
        world.run('selectProtocol', { userId: ANN, select: UDP, address: null });
        return world.run('loseMedia', { userId: ANN });
      },
      [],
    ],
    [
      'closes the connection of a lost peer',
      (world) => {
        world.run('selectProtocol', { userId: ANN, select: WEBRTC, address: null });
        world.run('answerPeer', { ...peer(ANN, 10, 1), sdp: 'answer' });
        return world.run('loseMedia', { userId: ANN });
      },
      ['close'],
    ],
  ],
  exhaustKey: [
    [
      'ends the session and renews the ticket',
      (world) => world.run('exhaustKey', { userId: ANN }),
      ['close', 'renewTicket'],
    ],
  ],
  restoreMedia: [['closes every connection', (world) => world.run('restoreMedia', {}), ['close', 'close']]],
  openMedia: [
    ['sets whether media must be encrypted', (world) => world.run('openMedia', {}), ['encryptedOnly']],
  ],
  changeEncryption: [
    [
      'drops unencrypted media once all members are in one epoch',
      (world) => world.run('changeEncryption', { phase: 'secure' }),
      ['encryptedOnly'],
    ],
    [
      'sends nothing when the setting stays',
      (world) => world.run('changeEncryption', { phase: 'negotiating' }),
      [],
    ],
  ],
};

describe.each(Object.entries(ROWS))('%s', (_, rows) => {
  it.each(rows)('%s', (_claim, run, dispatches) => {
    expect(run(pair()).map(brief)).toEqual(dispatches);
  });
});

it('every command for one member changes nothing for a user who is not connected', () => {
  const userId = '404' as UserId;
  const absent = {
    ...{
      userId,
      voiceMember: memberWith(userId),
      audience: null,
      flags: 1,
      isReceived: true,
      update: videoOf(1),
    },
    ...{
      wants: { any: 0, bySsrc: new Map() },
      codecs: [],
      select: UDP,
      address: null,
      ssrc: 1,
      selection: 0,
    },
    sdp: 'answer',
  };
  const world = pair();
  const before = structuredClone(world.state);
  const { enter, openMedia, changeEncryption, restoreMedia, ...forMember } = callRules.commands;
  for (const type of Object.keys(forMember) as (keyof typeof forMember)[])
    expect(world.run(type, absent), type).toEqual([]);
  expect(world.state).toEqual(before);
});

describe('a close', () => {
  it('is 4016 for an unknown mode', () => {
    expect(
      pair().run('selectProtocol', { userId: ANN, select: { ...UDP, mode: 'rot13' }, address: null }),
    ).toEqual([{ kind: 'close', userId: ANN, close: VOICE_CLOSE.UNKNOWN_ENCRYPTION_MODE }]);
  });

  it('is resumable only when the session can go on', () => {
    const closes = [...pair().run('exhaustKey', { userId: ANN }), ...pair().run('restoreMedia', {})];
    expect(closes.flatMap((each) => (each.kind === 'close' ? [each.close.resumable] : []))).toEqual([
      false,
      true,
      true,
    ]);
  });
});

it('the address of op 1 counts only when the voice socket comes from it', () => {
  const claims = ['127.0.0.1', '::ffff:127.0.0.1', '127.0.0.2', null].map((address) =>
    pair()
      .run('selectProtocol', { userId: ANN, select: UDP, address })
      .flatMap((each) => (each.kind === 'udp' ? [each.transport.claimed !== null] : [])),
  );
  expect(claims).toEqual([[true], [true], [false], [false]]);
});

it('audiences name listeners by SSRC as they come and go', () => {
  const world = new CallWorld();
  world.enter(ANN, 10, { audience: new Set([BEN]) });
  const settings = (dispatches: CallDispatch[]) => dispatches.filter(({ kind }) => kind === 'audience');
  expect(settings(world.enter(BEN, 20))).toEqual([{ kind: 'audience', ssrc: 10, only: [20] }]);
  expect(settings(world.run('leave', { userId: BEN }))).toEqual([{ kind: 'audience', ssrc: 10, only: [] }]);
});

it('media that require encryption stay encrypted in every phase', () => {
  const world = new CallWorld(true);
  for (const phase of ['plain', 'negotiating', 'transitioning', 'secure'] as const)
    expect(world.run('changeEncryption', { phase })).toEqual([]);
});

it('a client without video is sent no layers and wants none', () => {
  const world = new CallWorld();
  const ready = world.enter(ANN, 10, { layers: [] });
  expect(ready[0]).toEqual({ kind: 'sinkWants', ssrc: 10, wants: { any: 0, bySsrc: new Map() } });
  const op2 = ready.find((each) => each.kind === 'toMemberOnce' && each.op === VOICE_OP.READY);
  expect(op2).not.toHaveProperty('d.streams');
  expect(world.enter(BEN, 20, { layers: [layerOf(20)] }).map(brief)).toContain('toMemberOnce 2');
});
