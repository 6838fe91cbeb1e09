import { messageOf } from '../../protocol/thrown.ts';
import {
  AuthorizationTokenType,
  type Call,
  CallError,
  CallStatus,
  Client,
  createBrowserAudio,
  type GuildChannel,
  type MessageHandle,
  Status,
} from '../../sdk/index.ts';
import { socketUrl } from '../socket.ts';
import { createStore } from '../store.ts';

export interface GameState {
  readonly phase: 'out' | 'asking' | 'connecting' | 'ready' | 'reconnecting';
  /** The lobby that is shown. */
  readonly lobbyId: string | null;
  /** Messages of that lobby, oldest first. */
  readonly messages: readonly MessageHandle[];
  /** The call of that lobby, while this player is in it. */
  readonly call: Call | null;
  readonly speaking: ReadonlySet<string>;
  readonly complaint: string | null;
}

/** A channel that a lobby can be linked to. */
export interface LinkableChannel extends Pick<GuildChannel, 'id' | 'name'> {
  readonly guildName: string;
}

const KEPT = 'player';
const MESSAGES_MAX = 200;
const NOBODY: ReadonlySet<string> = new Set();

/**
 * State of the players page: the player, the lobby that is shown, and its call. Everything else is read from the client's
 * handles, again after every event of the client.
 */
export class Game {
  readonly store = createStore<GameState>({
    phase: 'out',
    lobbyId: null,
    messages: [],
    call: null,
    speaking: NOBODY,
    complaint: null,
  });
  /** The client connects only to the server of this page, whatever addresses the server announces. */
  readonly client = new Client({
    gatewayUrl: socketUrl('/'),
    voiceUrl: () => socketUrl('/voice/'),
    redirectPage: 'callback.html',
    createAudio: () =>
      createBrowserAudio({
        openWorker: () => new Worker(new URL('../media.worker.ts', import.meta.url), { type: 'module' }),
      }),
  });
  /** Created in advance, because browsers open a window only while a click is being handled. */
  #verifying = this.client.createAuthorizationCodeVerifier();

  /** The application of the game, where the page knows it: from its address, or from signing in. */
  applicationId = new URLSearchParams(location.search).get('application');

  readonly #keeps: boolean;

  /** @param options.keeps Whether the tab keeps the player's token over a reload. */
  constructor({ keeps = true }: { readonly keeps?: boolean } = {}) {
    this.#keeps = keeps;
    this.#listen();
    const token = keeps ? sessionStorage.getItem(KEPT) : null;
    if (token !== null) void this.enter(token);
  }

  /** Signs in on the server's own pages. Call it from a click handler. */
  async signIn(applicationId: string): Promise<void> {
    this.store.set({ phase: 'asking', complaint: null });
    this.applicationId = applicationId;
    try {
      const { verifier, challenge } = await this.#verifying;
      this.#verifying = this.client.createAuthorizationCodeVerifier();
      const scopes = Client.getDefaultCommunicationScopes();
      const answer = await this.client.authorize({
        clientId: applicationId,
        scopes,
        codeChallenge: challenge,
      });
      const { code, redirectUri } = answer;
      const { accessToken } = await this.client.getToken(applicationId, code, verifier, redirectUri);
      await this.enter(accessToken);
    } catch (error) {
      this.#out(messageOf(error));
    }
  }

  /** Connects with a token of this player. It is kept only for this tab. */
  async enter(token: string): Promise<void> {
    this.store.set({ phase: 'connecting', complaint: null });
    try {
      await this.client.updateToken(AuthorizationTokenType.Bearer, token);
      await this.client.connect();
      if (this.#keeps) sessionStorage.setItem(KEPT, token);
      this.show(this.client.getLobbyIds()[0] ?? null);
    } catch (error) {
      this.client.disconnect();
      this.#out(messageOf(error));
    }
  }

  signOut(): void {
    this.client.disconnect();
    this.#out(null);
  }

  async join(secret: string): Promise<void> {
    await this.attempt(async () => this.show(await this.client.createOrJoinLobby(secret)));
  }

  /** Leaves a lobby. Lobbies created by the game's server cannot be left. */
  async leave(lobbyId: string): Promise<void> {
    await this.attempt(async () => {
      await this.client.endCall(lobbyId);
      this.store.set({ lobbyId: null });
      try {
        await this.client.leaveLobby(lobbyId);
      } catch (error) {
        this.show(lobbyId);
        throw error;
      }
    });
  }

  show(lobbyId: string | null): void {
    const call = lobbyId === null ? null : this.client.getCall(lobbyId);
    this.store.set({ lobbyId, call, messages: [], speaking: NOBODY, complaint: null });
    void this.attempt(() => this.#loadMessages());
  }

  async send(content: string): Promise<void> {
    const { lobbyId } = this.store.value;
    if (lobbyId !== null) await this.attempt(() => this.client.sendLobbyMessage(lobbyId, content));
  }

  /** Joins the call. Call it from a click handler, because browsers start audio only then. */
  talk(lobbyId: string): void {
    const call = this.client.startCall(lobbyId);
    call.setStatusChangedCallback((status, error) => {
      if (status === CallStatus.Disconnected) this.#hungUp(call, error);
      else this.#again();
    });
    call.setSpeakingStatusChangedCallback((userId, speaks) => {
      const speaking = new Set(this.store.value.speaking);
      if (speaks) speaking.add(userId);
      else speaking.delete(userId);
      this.store.set({ speaking });
    });
    call.setOnVoiceStateChangedCallback(this.#again);
    call.setEncryptionChangedCallback(this.#again);
    this.store.set({ call, speaking: NOBODY, complaint: null });
  }

  /** Sets whether the browser removes noise and echo, which suits speech but not music. */
  clean(wanted: boolean): void {
    this.client.setNoiseSuppression(wanted);
    this.client.setEchoCancellation(wanted);
    this.client.setAutomaticGainControl(wanted);
  }

  /** Channels of this player's guilds that a lobby can be linked to. */
  async places(): Promise<readonly LinkableChannel[]> {
    const guilds = await this.client.getUserGuilds();
    const channels = await Promise.all(
      guilds.map(async ({ id, name: guildName }) =>
        (await this.client.getGuildChannels(id))
          .filter(({ isLinkable, linkedLobby }) => isLinkable && linkedLobby === null)
          .map((channel) => ({ id: channel.id, name: channel.name, guildName })),
      ),
    );
    return channels.flat();
  }

  /** Runs an action and shows its error to the player. */
  async attempt(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.store.set({ complaint: messageOf(error) });
    }
  }

  nameOf(userId: string): string {
    return this.client.getUser(userId)?.displayName || `Player ${userId.slice(-4)}`;
  }

  readonly #again = (): void => this.store.set({});

  #listen(): void {
    const { client } = this;
    client.setStatusChangedCallback((status, _, detail) => this.#moved(status, detail));
    client.setLobbyCreatedCallback(this.#again);
    client.setLobbyUpdatedCallback(this.#again);
    client.setLobbyMemberAddedCallback(this.#again);
    client.setLobbyMemberUpdatedCallback(this.#again);
    client.setLobbyMemberRemovedCallback(this.#again);
    client.setUserUpdatedCallback(this.#again);
    client.setVoiceParticipantChangedCallback(this.#again);
    client.setMessageUpdatedCallback(this.#again);
    client.setMessageCreatedCallback((messageId) => {
      const message = client.getMessageHandle(messageId);
      if (message !== null && message.lobby?.id === this.store.value.lobbyId) this.#keep([message]);
    });
    client.setMessageDeletedCallback((messageId) => {
      const messages = this.store.value.messages.filter(({ id }) => id !== messageId);
      this.store.set({ messages });
    });
    client.setLobbyDeletedCallback((lobbyId) => {
      if (this.store.value.lobbyId !== lobbyId) return this.#again();
      this.show(null);
      this.store.set({ complaint: 'You are no longer in this lobby.' });
    });
  }

  #moved(status: Status, detail: number): void {
    const { phase } = this.store.value;
    if (status === Status.Ready) {
      this.store.set({ phase: 'ready' });
      // A new session does not receive earlier messages.
      if (phase === 'reconnecting') void this.attempt(() => this.#loadMessages());
    } else if (status === Status.Reconnecting) this.store.set({ phase: 'reconnecting' });
    else if (status === Status.Disconnected && (phase === 'ready' || phase === 'reconnecting'))
      this.#out(`The server ended the session (${detail}).`);
  }

  async #loadMessages(): Promise<void> {
    const { lobbyId } = this.store.value;
    if (lobbyId === null) return;
    const messages = await this.client.getLobbyMessagesWithLimit(lobbyId, MESSAGES_MAX);
    if (this.store.value.lobbyId === lobbyId) this.#keep(messages);
  }

  /** Adds messages, in the order of their ids, which increase with time. */
  #keep(more: readonly MessageHandle[]): void {
    const byId = new Map([...more, ...this.store.value.messages].map((message) => [message.id, message]));
    const messages = [...byId.values()]
      .sort((a, b) => a.sentTimestamp - b.sentTimestamp || a.id.localeCompare(b.id))
      .slice(-MESSAGES_MAX);
    this.store.set({ messages });
  }

  #hungUp(call: Call, error: CallError): void {
    if (this.store.value.call !== call) return;
    this.store.set({ call: null, speaking: NOBODY });
    if (error === CallError.Forbidden) this.store.set({ complaint: 'You were put out of the call.' });
    else if (error !== CallError.None) this.store.set({ complaint: call.getFailure()?.message ?? null });
  }

  #out(complaint: string | null): void {
    if (this.#keeps) sessionStorage.removeItem(KEPT);
    this.store.set({ phase: 'out', lobbyId: null, messages: [], call: null, complaint });
  }
}
