import { INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { PRESENCE_PACE, pacedSender } from '../paced.ts';
import { GatewayLink } from '../voice/gatewaylink.ts';
import type { OpenSocket } from '../voice/wire.ts';
import { type Args, isObject } from './link.ts';

interface PersonOptions {
  readonly gatewayUrl: string;
  /** The person's own token. */
  readonly token: string;
  readonly open: OpenSocket;
  readonly os: string;
  /** A dispatch, after the state has taken it in. */
  dispatched(t: string, d: Args, before: Voice | null): void;
  /** The server has ended the session for good. */
  ended(reason: string): void;
}

/** A guild of the person as the gateway describes it. */
export interface GuildRecord {
  readonly id: string;
  readonly name: string;
  readonly icon: string | null;
  readonly vanityUrlCode: string | null;
}

/** A member's voice state, with what is needed to show the member. */
export interface Voice {
  readonly userId: string;
  readonly channelId: string;
  readonly guildId: string;
  readonly state: Args;
  readonly user: Args;
  readonly nick: string | null;
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const listOf = (value: unknown): readonly Args[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The gateway session of the signed-in person: presence, guilds and voice states. */
export class Person {
  readonly guilds = new Map<string, GuildRecord>();
  /** By user id; a person is in one voice channel at a time. */
  readonly voices = new Map<string, Voice>();
  readonly #link: GatewayLink;
  readonly #options: PersonOptions;
  readonly #presence: ReturnType<typeof pacedSender>;
  #activities: readonly object[] = [];
  #user: Args | null = null;
  #isOnline = false;
  readonly #waiting = new Set<{ resolve: (user: Args) => void; reject: (error: Error) => void }>();

  constructor(options: PersonOptions) {
    this.#options = options;
    this.#presence = pacedSender(PRESENCE_PACE, () => this.#sendPresence());
    this.#link = new GatewayLink({
      url: `${options.gatewayUrl.replace(/\/+$/, '')}/?v=10&encoding=json`,
      token: options.token,
      intents:
        INTENTS.GUILDS |
        INTENTS.GUILD_MEMBERS |
        INTENTS.GUILD_VOICE_STATES |
        INTENTS.GUILD_MESSAGES |
        INTENTS.DIRECT_MESSAGES |
        INTENTS.MESSAGE_CONTENT,
      properties: { os: options.os, browser: 'guildhall-rpc', device: 'guildhall-rpc' },
      open: options.open,
      events: {
        ready: (d) => this.#ready(d),
        dispatch: (t, d) => this.#dispatched(t, d),
        online: (isOnline) => {
          this.#isOnline = isOnline;
          if (isOnline && this.#activities.length > 0) this.#presence.request();
        },
        ended: (code, reason) => this.#ended(reason || `The server closed the session (${code}).`),
      },
    });
  }

  /** The person; null before the first READY. */
  get user(): Args | null {
    return this.#user;
  }

  get sessionId(): string | null {
    return this.#link.sessionId;
  }

  /** Resolves with the person at the first READY. @throws Error when the server rejects the session. */
  started(): Promise<Args> {
    const user = this.#user;
    if (user !== null) return Promise.resolve(user);
    return new Promise((resolve, reject) => this.#waiting.add({ resolve, reject }));
  }

  /** Shows these activities, at the gateway's rate; the session begins without any. */
  show(activities: readonly object[]): void {
    this.#activities = activities;
    this.#presence.request();
  }

  /** Moves this session into a voice channel, or out of it. */
  joinVoice(guildId: string, channelId: string | null, selfMute: boolean, selfDeaf: boolean): void {
    const d = { guild_id: guildId, channel_id: channelId, self_mute: selfMute, self_deaf: selfDeaf };
    this.#link.send(OP.VOICE_STATE_UPDATE, d);
  }

  close(): void {
    this.#presence.stop();
    this.#link.close();
  }

  #sendPresence(): void {
    if (!this.#isOnline) return;
    const d = { since: null, activities: this.#activities, status: 'online', afk: false };
    this.#link.send(OP.PRESENCE_UPDATE, d);
  }

  #ready(d: Args): void {
    this.#user = isObject(d.user) ? d.user : {};
    this.guilds.clear();
    this.voices.clear();
    for (const guild of listOf(d.guilds)) if (guild.unavailable !== true) this.#keepGuild(guild);
    for (const { resolve } of this.#waiting) resolve(this.#user);
    this.#waiting.clear();
    this.#options.dispatched('READY', d, null);
  }

  #dispatched(t: string, d: Args): void {
    const before = t === 'VOICE_STATE_UPDATE' ? (this.voices.get(String(d.user_id)) ?? null) : null;
    if (t === 'GUILD_CREATE' || t === 'GUILD_UPDATE') this.#keepGuild(d);
    else if (t === 'GUILD_DELETE' && d.unavailable !== true) this.#dropGuild(String(d.id));
    else if (t === 'VOICE_STATE_UPDATE') this.#keepVoice(String(d.guild_id), d, d.member);
    else if (t === 'USER_UPDATE') this.#user = { ...this.#user, ...d };
    this.#options.dispatched(t, d, before);
  }

  #keepGuild(guild: Args): void {
    const id = String(guild.id);
    this.guilds.set(id, {
      id,
      name: text(guild.name) ?? '',
      icon: text(guild.icon),
      vanityUrlCode: text(guild.vanity_url_code),
    });
    const members = new Map(
      listOf(guild.members).map((member) => [isObject(member.user) ? member.user.id : null, member]),
    );
    for (const state of listOf(guild.voice_states))
      this.#keepVoice(id, state, state.member ?? members.get(state.user_id));
  }

  #dropGuild(id: string): void {
    this.guilds.delete(id);
    for (const [userId, voice] of this.voices) if (voice.guildId === id) this.voices.delete(userId);
  }

  #keepVoice(guildId: string, state: Args, member: unknown): void {
    const userId = String(state.user_id);
    const channelId = text(state.channel_id);
    if (channelId === null) {
      this.voices.delete(userId);
      return;
    }
    const shown = isObject(member) ? member : {};
    const user = isObject(shown.user) ? shown.user : { id: userId, username: userId };
    this.voices.set(userId, { userId, channelId, guildId, state, user, nick: text(shown.nick) });
  }

  #ended(reason: string): void {
    for (const { reject } of this.#waiting) reject(new Error(reason));
    this.#waiting.clear();
    this.#presence.stop();
    this.#options.ended(reason);
  }
}
