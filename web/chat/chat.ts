import { messageOf } from '../../protocol/thrown.ts';
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
import { createStore } from '../store.ts';

/** A message of the channel, as far as the page shows it. */
export interface ChatMessage extends ShownMessage {
  readonly author: { readonly id: string; readonly username: string; readonly global_name?: string | null };
  readonly timestamp: string;
}

export interface ChatState {
  /** Oldest first; the page keeps a bounded number. */
  readonly messages: readonly ChatMessage[];
  readonly commands: readonly IndexedCommand[];
  readonly modal: ShownModal | null;
  readonly isBusy: boolean;
  readonly complaint: string | null;
}

interface ChatOptions {
  readonly token: string;
  readonly guildId: string;
  readonly channelId: string;
  readonly sessionId: string;
  listen(listener: (t: string, d: Json) => void): () => void;
}

const MESSAGES_MAX = 100;
const API = '/api/v10';
const FAILURES: Readonly<Record<number, string>> = {
  1: 'The application gave an answer that is none.',
  2: 'The application did not answer in time.',
  3: 'The application cannot be reached.',
};

const isMessage = (d: object): d is ChatMessage => 'id' in d && 'content' in d && 'author' in d;

/** A text channel with its applications: what it shows, and what the user does in it. */
export class Chat {
  readonly store = createStore<ChatState>({
    ...{ messages: [], commands: [], modal: null, isBusy: false, complaint: null },
  });
  readonly #options: ChatOptions;
  readonly #person: Person;
  readonly #stop: () => void;

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#person = createPerson({
      sessionId: options.sessionId,
      commands: async () => this.store.value.commands,
      listen: options.listen,
      send: async (body, files) => {
        const form = new FormData();
        form.set('payload_json', JSON.stringify(body));
        for (const [id, { filename, bytes }] of files.entries())
          form.set(`files[${id}]`, new Blob([Uint8Array.from(bytes)]), filename);
        await this.#ask('/interactions', { method: 'POST', body: form });
      },
    });
    this.#stop = options.listen((t, d) => this.#heard(t, d));
    void this.#run(() => this.#load());
  }

  close(): void {
    this.#stop();
  }

  /** Sends what was typed: a command behind a slash, or a message. */
  send(text: string): Promise<void> {
    return this.#run(async () => {
      if (text.startsWith('/')) return this.#seen(await this.#person.type(text, this.#place));
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ content: text });
      await this.#ask(`/channels/${this.#options.channelId}/messages`, { method: 'POST', headers, body });
    });
  }

  click(message: ShownMessage, customId: string): Promise<void> {
    return this.#run(async () => this.#seen(await this.#person.click(message, customId, this.#place)));
  }

  select(message: ShownMessage, customId: string, values: readonly string[]): Promise<void> {
    return this.#run(async () =>
      this.#seen(await this.#person.select(message, customId, values, this.#place)),
    );
  }

  submit(modal: ShownModal, values: Readonly<Record<string, FieldValue>>): Promise<void> {
    return this.#run(async () => {
      this.#seen(await this.#person.submit(modal, values, this.#place));
      this.store.set({ modal: null });
    });
  }

  /** What the application suggests for an option that is being typed. */
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

  /** Hides a message that only the user sees. */
  dismiss({ id }: ShownMessage): void {
    this.store.set({ messages: this.store.value.messages.filter((one) => one.id !== id) });
  }

  get #place() {
    const { guildId, channelId } = this.#options;
    return { guildId, channelId };
  }

  async #load(): Promise<void> {
    const { channelId } = this.#options;
    const history = await this.#ask(`/channels/${channelId}/messages?limit=50`, {});
    const found = Array.isArray(history) ? history.filter(isMessage).reverse() : [];
    this.store.set({ messages: found });
    await this.#readCommands();
  }

  async #readCommands(): Promise<void> {
    const { guildId } = this.#options;
    const places = [`/guilds/${guildId}`, '/users/@me'];
    const indexes = await Promise.all(
      places.map((place) => this.#ask(`${place}/application-command-index`, {})),
    );
    this.store.set({ commands: commandsIn(indexes) });
  }

  #heard(t: string, d: Json): void {
    const { guildId, channelId } = this.#options;
    if (t === 'GUILD_APPLICATION_COMMAND_INDEX_UPDATE' && d.guild_id === guildId)
      void this.#run(() => this.#readCommands());
    if (d.channel_id !== channelId) return;
    const { messages } = this.store.value;
    const rest = messages.filter(({ id }) => id !== d.id);
    if (t === 'MESSAGE_DELETE') this.store.set({ messages: rest });
    if (t === 'MESSAGE_CREATE' && isMessage(d))
      this.store.set({ messages: [...rest, d].slice(-MESSAGES_MAX) });
    if (t === 'MESSAGE_UPDATE' && isMessage(d))
      this.store.set({ messages: messages.map((one) => (one.id === d.id ? d : one)) });
  }

  #seen(answer: InteractionAnswer): void {
    if (answer.kind === 'modal') this.store.set({ modal: answer.modal });
    if (answer.kind === 'failed') throw new Error(FAILURES[answer.reason] ?? FAILURES[1]);
  }

  /** Shows what went wrong. */
  async #run(job: () => Promise<void>): Promise<void> {
    this.store.set({ isBusy: true, complaint: null });
    try {
      await job();
    } catch (error) {
      this.store.set({ complaint: messageOf(error) });
    } finally {
      this.store.set({ isBusy: false });
    }
  }

  async #ask(path: string, init: RequestInit): Promise<unknown> {
    const headers = { ...init.headers, authorization: `Bearer ${this.#options.token}` };
    const response = await fetch(API + path, { ...init, headers });
    const text = await response.text();
    const body: unknown = text === '' ? null : JSON.parse(text);
    if (response.ok) return body;
    throw new Error(refusalOf(body) ?? `The server answered ${response.status}.`);
  }
}

/** The first error of the tree, else the message of the refusal. */
function refusalOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const nested = Object.values(body).map((value) =>
    Array.isArray(value) ? refusalOf(value[0]) : refusalOf(value),
  );
  return nested.find((text) => text !== null) ?? ('message' in body ? String(body.message) : null);
}
