import type { PrivateChannelShell } from '../actors/channel/private.shell.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import type { Clock } from '../actors/runtime/clock.ts';
import type { Registry } from '../actors/runtime/registry.ts';
import type { LiveSession } from '../actors/session/backend.ts';
import type { VoiceStateRequest } from '../actors/session/ports.ts';
import { type Authority, SYSTEM } from '../engine/authority.ts';
import { type CallCommands, callCreate } from '../engine/call/ring.ts';
import type { Seat } from '../engine/call/seat.ts';
import type { PrivateChannelState } from '../engine/channel/private.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import type { Reply } from '../engine/outcome.ts';
import type { ChannelId, GuildId } from '../protocol/ids.ts';

export interface PlacePorts {
  readonly guilds: Guilds;
  readonly privateChannels: Registry<PrivateChannelState, PrivateChannelShell>;
  readonly clock: Clock;
  /** Hears of what nobody waits for and went wrong. */
  readonly onFault: (error: unknown, id: string) => void;
}

/** Where one can be in voice: a guild, one of its channels at a time, or a private channel. */
type Place =
  | { readonly kind: 'guild'; readonly id: GuildId }
  | { readonly kind: 'private'; readonly id: ChannelId };

type Wish = Omit<VoiceStateRequest, 'guildId'>;

const NOWHERE: Wish = { channelId: null, selfMute: false, selfDeaf: false, selfVideo: false };

/** Brings sessions into voice and out of it: bots into one channel of each guild, people into one place at a time. */
export interface VoicePlaces {
  /** Voice State Update (op 4). */
  ask(session: LiveSession, request: VoiceStateRequest): void;
  /** Tells a session that begins of the calls that are on in its private channels. */
  greet(session: LiveSession, channels: readonly { readonly id: ChannelId }[]): void;
  /** The session is over; these were its guilds. */
  ended(session: LiveSession, guildIds: readonly GuildId[]): void;
  /** A call has lost a user for good. */
  drop(seat: Pick<Seat, 'callId' | 'guildId' | 'userId' | 'sessionId'>): void;
}

/** Sends commands to the calls of private channels. */
export const privateCommands =
  (registry: PlacePorts['privateChannels']) =>
  <K extends keyof CallCommands>(
    id: ChannelId,
    type: K,
    input: CallCommands[K]['input'],
    authority: Authority,
  ): Promise<Reply<CallCommands[K]['value']>> =>
    new Promise((resolve, reject) => {
      registry.workWith(id, (shell) =>
        shell.command(type, input as never, authority, resolve as never, reject),
      );
    });

/** Asks for a place in voice, of whoever owns it. */
const askingIn =
  ({ guilds, privateChannels }: PlacePorts) =>
  (
    place: Place,
    wish: Wish & { readonly sessionId: string },
    authority: Authority,
  ): Promise<Reply<object | null>> => {
    if (place.kind === 'guild') return guilds.call(place.id, 'setVoiceState', wish, authority);
    const { channelId, ...own } = wish;
    const input = { ...own, join: channelId !== null };
    return privateCommands(privateChannels)(place.id, 'setCallState', input, authority);
  };

/** A call that is on keeps its channel at hand. */
function greet(
  session: LiveSession,
  channels: readonly { readonly id: ChannelId }[],
  { privateChannels, clock }: PlacePorts,
): void {
  const run = (state: PrivateChannelState): void => {
    const d = callCreate(state);
    if (d) session.deliver(new DispatchBody('CALL_CREATE', d, clock.monotonic()));
  };
  for (const { id } of channels)
    if (privateChannels.peek(id)) privateChannels.work(id, { run, refuse: () => {}, fault: () => {} });
}

export function createVoicePlaces(ports: PlacePorts): VoicePlaces {
  const { guilds, privateChannels, onFault } = ports;
  /** Where each person's session last asked to be. */
  const places = new WeakMap<LiveSession, Place>();

  const askIn = askingIn(ports);

  const resident = ({ kind, id }: Place): boolean =>
    kind === 'guild' ? guilds.isResident(id) : privateChannels.peek(id) !== undefined;

  function put(session: LiveSession, place: Place, wish: Wish): void {
    const joins = wish.channelId !== null;
    const before = places.get(session);
    const isHere = (other: Place | undefined): boolean => other?.id === place.id;
    if (joins && !session.bot) places.set(session, place);
    const settle = (inVoice: boolean): void => {
      if (session.bot) {
        if (inVoice && session.over) leave(session, place);
      } else if (!inVoice) {
        // Refused, the session is where it was.
        if (before && isHere(places.get(session))) places.set(session, before);
      } else if (session.over || !isHere(places.get(session))) leave(session, place);
      else if (before && !isHere(before)) leave(session, before);
    };
    askIn(place, { ...wish, sessionId: session.sessionId }, authorityOf(session))
      .then((reply) => joins && settle(reply.ok && reply.value !== null))
      .catch((fault) => onFault(fault, session.sessionId));
  }

  /** Only the session that brought its user into voice takes them out; for the others nothing happens. */
  function leave(session: LiveSession, place: Place): void {
    if (resident(place)) put(session, place, NOWHERE);
  }

  return {
    ask(session, { guildId, ...wish }) {
      if (guildId !== null) put(session, { kind: 'guild', id: guildId }, wish);
      else if (session.bot) return;
      else if (wish.channelId !== null) put(session, { kind: 'private', id: wish.channelId }, wish);
      else {
        // People name no guild when they hang up, wherever they are.
        const place = places.get(session);
        if (place) leave(session, place);
      }
    },

    greet: (session, channels) => greet(session, channels, ports),

    ended(session, guildIds) {
      for (const id of guildIds) leave(session, { kind: 'guild', id });
      const place = places.get(session);
      if (place?.kind === 'private') leave(session, place);
    },

    drop({ callId, guildId, userId, sessionId }) {
      const user = { userId, sessionId };
      const dropped =
        guildId === null
          ? privateCommands(privateChannels)(callId, 'dropCaller', user, SYSTEM)
          : guilds.call(guildId, 'dropVoice', { ...user, channelId: callId }, SYSTEM);
      dropped.catch((fault) => onFault(fault, callId));
    },
  };
}

const authorityOf = ({ principal }: LiveSession): Authority => ({
  by: { ...principal, reason: null },
  requires: 0n,
});
