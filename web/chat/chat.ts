import { messageOf } from '../../protocol/thrown.ts';
import type { OptionFile } from '../../sdk/interactions/invocation.ts';
import { commandsIn, type IndexedCommand } from '../../sdk/interactions/invocation.ts';
import {
  createPerson,
  type FieldValue,
  type InteractionAnswer,
  type Person,
  type ShownMessage,
  type ShownModal,
} from '../../sdk/interactions/person.ts';
import type { Json } from '../../sdk/voice/wire.ts';
import { callApi, formBody, jsonBody } from '../api.ts';
import { createStore } from '../store.ts';
import { messagesAfter } from './changes.ts';
import { typedCommand } from './completion.ts';
import { MessageActions } from './messageactions.ts';
import { type ChatMessage, isMessage } from './shapes.ts';

export interface ChatState {
  /** Oldest first; the page keeps a bounded number. */
  readonly messages: readonly ChatMessage[];
  readonly commands: readonly IndexedCommand[];
  readonly modal: ShownModal | null;
  /** The message that the next message replies to. */
  readonly replyTo: ChatMessage | null;
  /** When each typing user began, Unix milliseconds. */
  readonly typing: ReadonlyMap<string, number>;
  /** Whether older messages may exist. */
  readonly hasOlder: boolean;
  readonly isBusy: boolean;
  readonly complaint: string | null;
}

interface ChatOptions {
  readonly token: string;
  readonly selfId: string;
  /** Null for a private channel. */
  readonly guildId: string | null;
  readonly channelId: string;
  readonly sessionId: string;
  listen(listener: (t: string, d: Json) => void): () => void;
}

const PAGE = 50;
const MESSAGES_MAX = 400;
/** How long a user is shown as typing after TYPING_START, and how often this page sends it. */
const TYPING_MS = 10_000;
const TYPING_EVERY_MS = 8_000;
const FAILURES: Readonly<Record<number, string>> = {
  1: 'The application gave an invalid answer.',
  2: 'The application did not answer in time.',
  3: 'The application cannot be reached.',
};

/** A text channel with its applications: what it shows, and what the user does in it. */
export class Chat {
  readonly store = createStore<ChatState>({
    ...{ messages: [], commands: [], modal: null, isBusy: false, complaint: null },
    ...{ replyTo: null, typing: new Map(), hasOlder: false },
  });
  #typedMs = 0;
  #typingTimer: ReturnType<typeof setTimeout> | null = null;
  readonly #options: ChatOptions;
  /** Path of the channel's messages. */
  readonly #path: string;
  readonly #person: Person;
  readonly actions: MessageActions;
  readonly #stop: () => void;

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#path = `/channels/${options.channelId}/messages`;
    this.#person = createPerson({
      sessionId: options.sessionId,
      commands: async () => this.store.value.commands,
      listen: options.listen,
      send: async (body, files) => {
        await this.#ask('/interactions', formBody(body, files));
      },
    });
    this.actions = new MessageActions({
      path: this.#path,
      run: (method, path, body) =>
        this.#run(() => this.#ask(path, body === undefined ? { method } : jsonBody(method, body))),
    });
    this.#stop = options.listen((t, d) => this.#receive(t, d));
    void this.#run(() => this.#load());
  }

  close(): void {
    if (this.#typingTimer !== null) clearTimeout(this.#typingTimer);
    this.#stop();
  }

  /** Sends what was typed: a command behind a slash, or a message with files. @returns whether it was sent. */
  send(text: string, files: readonly OptionFile[] = []): Promise<boolean> {
    return this.#run(async () => {
      if (text.startsWith('/')) {
        const { name, values } = typedCommand(this.store.value.commands, text, files);
        return this.#seen(await this.#person.slash(name, values, this.#place));
      }
      const { replyTo } = this.store.value;
      const body = {
        content: text,
        ...(replyTo && { message_reference: { message_id: replyTo.id } }),
        ...(files.length > 0 && { attachments: files.map(({ filename }, id) => ({ id, filename })) }),
      };
      await this.#ask(this.#path, files.length > 0 ? formBody(body, files) : jsonBody('POST', body));
      this.store.set({ replyTo: null });
      this.#typedMs = 0;
    });
  }

  /** Uses a menu entry of an application on a message or a user. */
  use(name: string, target: { readonly id: string }): Promise<boolean> {
    return this.#run(async () => this.#seen(await this.#person.contextMenu(name, target, this.#place)));
  }

  reply(message: ChatMessage | null): void {
    this.store.set({ replyTo: message });
  }

  /** Sends the typing indicator, at most once per interval. */
  typing(): void {
    const nowMs = Date.now();
    if (nowMs - this.#typedMs < TYPING_EVERY_MS) return;
    this.#typedMs = nowMs;
    this.#ask(`/channels/${this.#options.channelId}/typing`, { method: 'POST' }).catch(() => undefined);
  }

  /** Loads the messages before the oldest one. */
  older(): Promise<boolean> {
    return this.#run(async () => {
      const before = this.store.value.messages[0]?.id;
      if (before === undefined) return;
      const history = await this.#ask(`${this.#path}?limit=${PAGE}&before=${before}`);
      this.store.set(withHistory(this.store.value, history));
    });
  }

  click(message: ShownMessage, customId: string): Promise<boolean> {
    return this.#run(async () => this.#seen(await this.#person.click(message, customId, this.#place)));
  }

  select(message: ShownMessage, customId: string, values: readonly string[]): Promise<boolean> {
    return this.#run(async () =>
      this.#seen(await this.#person.select(message, customId, values, this.#place)),
    );
  }

  submit(modal: ShownModal, values: Readonly<Record<string, FieldValue>>): Promise<boolean> {
    return this.#run(async () => {
      this.#seen(await this.#person.submit(modal, values, this.#place));
      this.store.set({ modal: null });
    });
  }

  /** Suggestions of the application for an option that is being typed. */
  async suggest(
    name: string,
    options: Readonly<Record<string, string>>,
    focused: string,
  ): Promise<readonly { readonly name: string; readonly value: string | number }[]> {
    const answer = await this.#person.autocomplete(name, options, focused, this.#place).catch(() => null);
    return answer?.kind === 'choices' ? answer.choices : [];
  }

  dropModal(): void {
    this.store.set({ modal: null });
  }

  /** Deletes a message that only the user sees, also in the user's other windows. */
  dismiss({ id }: ShownMessage): void {
    this.store.set({ messages: this.store.value.messages.filter((one) => one.id !== id) });
    void this.#run(() => this.#ask(`${this.#path}/${id}`, { method: 'DELETE' }));
  }

  get #place() {
    const { guildId, channelId } = this.#options;
    return { guildId, channelId };
  }

  async #load(): Promise<void> {
    const history = await this.#ask(`${this.#path}?limit=${PAGE}`);
    this.store.set(withHistory(this.store.value, history));
    await this.#readCommands();
  }

  async #readCommands(): Promise<void> {
    const { guildId } = this.#options;
    const places = [...(guildId === null ? [] : [`/guilds/${guildId}`]), '/users/@me'];
    const indexes = await Promise.all(places.map((place) => this.#ask(`${place}/application-command-index`)));
    this.store.set({ commands: commandsIn(indexes) });
  }

  #receive(t: string, d: Json): void {
    const { guildId, channelId } = this.#options;
    if (t === 'GUILD_APPLICATION_COMMAND_INDEX_UPDATE' && d.guild_id === guildId)
      void this.#run(() => this.#readCommands());
    if (d.channel_id !== channelId) return;
    if (t === 'TYPING_START') this.#wrote(String(d.user_id), true);
    if (t === 'MESSAGE_CREATE' && isMessage(d)) this.#wrote(d.author.id, false);
    const { messages } = this.store.value;
    const next = messagesAfter(messages, t, d, this.#options.selfId);
    if (next !== messages) this.store.set({ messages: next.slice(-MESSAGES_MAX) });
  }

  #wrote(userId: string, isWriting: boolean): void {
    if (userId === this.#options.selfId) return;
    const nowMs = Date.now();
    const typing = new Map([...this.store.value.typing].filter(([, sinceMs]) => nowMs - sinceMs < TYPING_MS));
    if (isWriting) {
      typing.set(userId, nowMs);
      if (this.#typingTimer !== null) clearTimeout(this.#typingTimer);
      this.#typingTimer = setTimeout(() => this.#wrote('', false), TYPING_MS + 100);
    } else typing.delete(userId);
    this.store.set({ typing });
  }

  #seen(answer: InteractionAnswer): void {
    if (answer.kind === 'modal') this.store.set({ modal: answer.modal });
    if (answer.kind === 'failed') throw new Error(FAILURES[answer.reason] ?? FAILURES[1]);
  }

  /** Shows the error of a refused call. @returns whether the call succeeded. */
  async #run(job: () => Promise<unknown>): Promise<boolean> {
    this.store.set({ isBusy: true, complaint: null });
    try {
      await job();
      return true;
    } catch (error) {
      this.store.set({ complaint: messageOf(error) });
      return false;
    } finally {
      this.store.set({ isBusy: false });
    }
  }

  #ask(path: string, init?: RequestInit): Promise<unknown> {
    return callApi(this.#options.token, path, init);
  }
}

/** @param history Messages of the server, newest first. */
function withHistory({ messages }: ChatState, history: unknown): Pick<ChatState, 'messages' | 'hasOlder'> {
  const found = Array.isArray(history) ? history.filter(isMessage).reverse() : [];
  const known = new Set(messages.map(({ id }) => id));
  const all = [...found.filter(({ id }) => !known.has(id)), ...messages];
  return { messages: all, hasOlder: found.length === PAGE && all.length < MESSAGES_MAX };
}
