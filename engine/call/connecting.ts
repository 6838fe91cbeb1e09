import type { UserId } from '../../protocol/ids.ts';
import { TRANSPORT_MODES, VOICE_CLOSE } from '../../protocol/voice.ts';
import { accepted } from '../kernel/aggregate.ts';
import { sameAddress } from './address.ts';
import { type CallState, change, memberOf, withMember } from './call.ts';
import type { PeerRequest } from './dispatch.ts';
import type { CallFact } from './facts.ts';
import type { CallMember } from './member.ts';
import type { Transport } from './payloads.ts';
import type { SelectProtocol } from './requests.ts';
import { type CallEnv, type CallTopic, type ForMember, ofMember } from './topic.ts';
import { codecChanges, codecFor, layerRequests } from './videos.ts';

type Selected = {
  readonly select: SelectProtocol;
  /** Where the voice socket is connected from; null without a connection. */
  readonly address: string | null;
};

type ConnectingCommands = {
  /** Op 1 of a client. */
  selectProtocol: ForMember<Selected>;
  /** Media answer a peer request: the SDP, or null when the client's SDP cannot be used. */
  answerPeer: { input: PeerRequest & { readonly sdp: string | null }; value: null };
  /** Media failed on a peer request. */
  failPeer: { input: PeerRequest; value: null };
  /** Media of the member arrive. */
  reachMedia: ForMember;
  /** Media of the member have stopped to arrive. */
  loseMedia: ForMember;
  /** Half of the nonces of the member's key are used up: it needs another key. */
  exhaustKey: ForMember;
  /** The media worker was replaced. */
  restoreMedia: { input: object; value: null };
};

/** Upper bound on Select Protocol frames before media arrive; each may cost a peer connection. */
const ATTEMPTS_MAX = 16;

/** The Session Description, and what it changes for the others. */
function described(member: CallMember, state: CallState, transport: Transport): CallFact[] {
  const { userId } = member.voiceMember;
  const codec = codecFor(member, withMember(state, member));
  const members = withMember(state, { ...member, transport: transport.kind, codec });
  return [
    { type: 'memberDescribed', userId, transport, codec },
    ...codecChanges(members),
    ...layerRequests(members),
  ];
}

function udpSelected(
  member: CallMember,
  { address, port, mode: named }: SelectProtocol & { readonly protocol: 'udp' },
  connectedFrom: string | null,
  { state, env }: { readonly state: CallState; readonly env: CallEnv },
): CallFact[] {
  const { userId } = member.voiceMember;
  const mode = TRANSPORT_MODES.find((known) => known === named);
  if (!mode) return [{ type: 'connectionClosed', userId, close: VOICE_CLOSE.UNKNOWN_ENCRYPTION_MODE }];
  const key = env.randomBytes(32);
  const isOwn = connectedFrom !== null && sameAddress(connectedFrom, address);
  const claimed = isOwn ? { address, port } : null;
  return [
    { type: 'udpConnected', userId, transport: { mode, key, claimed } },
    ...described(member, state, { kind: 'udp', mode, key }),
  ];
}

/** The member that made a peer request; undefined when it has left or has selected another protocol since. */
const requesterOf = ({ members }: CallState, { userId, ssrc, selection }: PeerRequest) => {
  const member = members.get(userId);
  return member?.ssrc === ssrc && member.selections === selection ? member : undefined;
};

const closed = (userId: UserId, close: (typeof VOICE_CLOSE)[keyof typeof VOICE_CLOSE]): CallFact => ({
  type: 'connectionClosed',
  userId,
  close,
});

const commands: CallTopic<ConnectingCommands, never>['commands'] = {
  selectProtocol: {
    decide: ofMember((member, { userId, select, address }, state, env) => {
      if (member.attempts >= ATTEMPTS_MAX) return [closed(userId, VOICE_CLOSE.RATE_LIMITED)];
      const { codecs } = select;
      const facts: CallFact[] = [{ type: 'protocolSelected', userId }];
      if (codecs.length > 0) facts.push({ type: 'codecsOffered', userId, codecs });
      const offering = codecs.length > 0 ? { ...member, codecs } : member;
      return select.protocol === 'webrtc'
        ? [...facts, { type: 'peerRequested', userId, fragment: select.fragment }]
        : [...facts, ...udpSelected(offering, select, address, { state, env })];
    }),
  },
  answerPeer: {
    decide: (state, { sdp, ...request }) => {
      const member = requesterOf(state, request);
      if (!member) return accepted(null);
      if (sdp === null) return accepted(null, [closed(request.userId, VOICE_CLOSE.UNKNOWN_PROTOCOL)]);
      return accepted(null, described(member, state, { kind: 'webrtc', sdp }));
    },
  },
  failPeer: {
    decide: (state, request) =>
      accepted(null, requesterOf(state, request) ? [closed(request.userId, VOICE_CLOSE.WEBRTC_CRASHED)] : []),
  },
  reachMedia: {
    decide: ofMember(({ attempts }, { userId }) =>
      attempts === 0 ? [] : [{ type: 'mediaReached', userId }],
    ),
  },
  loseMedia: {
    // A peer connection does not recover by itself; a UDP client recovers with its next packet.
    decide: ofMember(({ transport }, { userId }) =>
      transport === 'webrtc' ? [closed(userId, VOICE_CLOSE.WEBRTC_CRASHED)] : [],
    ),
  },
  exhaustKey: {
    decide: ofMember((_member, { userId }) => [
      closed(userId, VOICE_CLOSE.SESSION_INVALID),
      { type: 'ticketRenewed', userId },
    ]),
  },
  restoreMedia: {
    decide: ({ members }) =>
      accepted(
        null,
        [...members.keys()].map((userId) => closed(userId, VOICE_CLOSE.SERVER_CRASHED)),
      ),
  },
};

type ConnectingFacts =
  | 'protocolSelected'
  | 'udpConnected'
  | 'peerRequested'
  | 'memberDescribed'
  | 'mediaReached'
  | 'connectionClosed'
  | 'ticketRenewed';

/** How members connect to media, and how they lose their connections. */
export const connecting: CallTopic<ConnectingCommands, ConnectingFacts> = {
  commands,
  facts: {
    protocolSelected: {
      durable: false,
      apply: (state, fact) => {
        const { selections, attempts } = memberOf(state, fact);
        change(state, fact, { selections: selections + 1, attempts: attempts + 1 });
      },
      dispatches: () => [],
    },
    udpConnected: {
      durable: false,
      apply: () => {},
      dispatches: (state, fact) => [
        { kind: 'udp', ssrc: memberOf(state, fact).ssrc, transport: fact.transport },
      ],
    },
    peerRequested: {
      durable: false,
      apply: () => {},
      dispatches: (state, { userId, fragment }) => {
        const { ssrc, selections: selection } = memberOf(state, { userId });
        return [{ kind: 'requestPeer', peer: { userId, ssrc, selection }, fragment }];
      },
    },
    memberDescribed: {
      durable: false,
      apply: (state, fact) => change(state, fact, { transport: fact.transport.kind, codec: fact.codec }),
      dispatches: (state, { userId, transport, codec: videoCodec }) => [
        {
          kind: 'describe',
          userId,
          transport,
          videoCodec,
          mediaSessionId: memberOf(state, { userId }).mediaSessionId,
        },
      ],
    },
    mediaReached: {
      durable: false,
      apply: (state, fact) => change(state, fact, { attempts: 0 }),
      dispatches: () => [],
    },
    connectionClosed: {
      durable: false,
      apply: () => {},
      dispatches: (_state, { userId, close }) => [{ kind: 'close', userId, close }],
    },
    ticketRenewed: {
      durable: false,
      apply: () => {},
      dispatches: (_state, { userId }) => [{ kind: 'renewTicket', userId }],
    },
  },
};
