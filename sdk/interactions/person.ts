import {
  commandOf,
  type IndexedCommand,
  type OptionFile,
  type OptionValue,
  parseInvocation,
  typedOptions,
} from './invocation.ts';

/** A message as a person's client is shown it. */
export interface ShownMessage {
  readonly id: string;
  readonly channel_id: string;
  readonly application_id?: string;
  readonly content: string;
  readonly flags?: number;
  readonly embeds: readonly object[];
  readonly components?: readonly object[];
  readonly attachments: readonly { readonly filename: string; readonly url: string }[];
  readonly interaction_metadata?: { readonly id: string };
}

/** A form that opened. */
export interface ShownModal {
  /** The interaction whose answer it is. */
  readonly id: string;
  readonly application: { readonly id: string };
  readonly channel_id: string;
  readonly custom_id: string;
  readonly title: string;
  readonly components: readonly object[];
}

/** An application's answer as the person sees it. */
export type InteractionAnswer =
  | { readonly kind: 'message'; readonly message: ShownMessage; readonly isEphemeral: boolean }
  /** The message of the component has changed. */
  | { readonly kind: 'update'; readonly message: ShownMessage }
  /** Accepted without anything to see. */
  | { readonly kind: 'acknowledged' }
  | { readonly kind: 'modal'; readonly modal: ShownModal }
  | {
      readonly kind: 'choices';
      readonly choices: readonly { readonly name: string; readonly value: string | number }[];
    }
  /** No answer in time (2), an unreachable application (3), or a wrong answer (1). */
  | { readonly kind: 'failed'; readonly reason: number };

/** How a person reaches the server. */
interface PersonPorts {
  /** The session that receives the answers; null when `listen` needs none. */
  readonly sessionId: string | null;
  /** The commands that can be used in a place. */
  commands(place: Place): Promise<readonly IndexedCommand[]>;
  /** POST /interactions. Rejects when the server refuses it. */
  send(body: Readonly<Record<string, unknown>>, files: readonly OptionFile[]): Promise<void>;
  /** Receives the dispatches of the person's session. @returns a function that stops it. */
  listen(listener: (t: string, d: object) => void): () => void;
}

export interface Place {
  /** Null in a private channel. */
  readonly guildId: string | null;
  readonly channelId: string;
}

/** A person who uses applications: what the person does, and what the person is shown. */
export interface Person {
  /** Runs what a person types: `/ping option:value`. */
  type(text: string, place: Place): Promise<InteractionAnswer>;
  /** @param name The command, with the names of a group and a subcommand: `settings colour set`. */
  slash(
    name: string,
    options: Readonly<Record<string, OptionValue>>,
    place: Place,
  ): Promise<InteractionAnswer>;
  /** Suggestions of an application for an option while it is typed. */
  autocomplete(
    name: string,
    options: Readonly<Record<string, OptionValue>>,
    focused: string,
    place: Place,
  ): Promise<InteractionAnswer>;
  /** Uses a menu entry on a user or a message. */
  contextMenu(name: string, target: { readonly id: string }, place: Place): Promise<InteractionAnswer>;
  click(message: ShownMessage, customId: string, place: Place): Promise<InteractionAnswer>;
  select(
    message: ShownMessage,
    customId: string,
    values: readonly string[],
    place: Place,
  ): Promise<InteractionAnswer>;
  /** Fills in a form: the values of its fields by custom id. */
  submit(
    modal: ShownModal,
    values: Readonly<Record<string, FieldValue>>,
    place: Place,
  ): Promise<InteractionAnswer>;
}

/** A text, a choice, several choices, or files; null leaves a field empty. */
export type FieldValue = string | boolean | readonly string[] | readonly OptionFile[] | null;

const COMMAND = 2;
const COMPONENT = 3;
const AUTOCOMPLETE = 4;
const SUBMIT = 5;
const BUTTON = 2;
/** Types of commands that are used on a user, and on a message. */
const [USER_MENU, MESSAGE_MENU] = [2, 3];
const EPHEMERAL = 1 << 6;
const LOADING = 1 << 7;
/** The server reports a failure after three seconds; a deferred answer may arrive until the token expires. */
const PATIENCE_MS = 10_000;
const PREPARING_MS = 60_000;
/** How long to wait for the message, which may arrive after INTERACTION_SUCCESS on another path. */
const GRACE_MS = 300;

let nonces = 0;

interface Waiting {
  readonly nonce: string;
  /** The message of a component. */
  readonly sourceId: string | null;
}

type Ask = (
  body: Readonly<Record<string, unknown>>,
  place: Place,
  files?: readonly OptionFile[],
  sourceId?: string | null,
) => Promise<InteractionAnswer>;

/** Sends an interaction, and waits for what the person is shown of it. */
const asking =
  (ports: PersonPorts): Ask =>
  async (body, { guildId, channelId }, files = [], sourceId = null) => {
    nonces += 1;
    const nonce = `${Date.now().toString(36)}${nonces.toString(36)}`.slice(-25);
    const answered = answerTo(ports, { nonce, sourceId });
    const place = { ...(guildId !== null && { guild_id: guildId }), channel_id: channelId };
    try {
      await ports.send({ ...body, ...place, session_id: ports.sessionId, nonce }, files);
    } catch (error) {
      answered.cancel();
      throw error;
    }
    return answered.answer;
  };

export function createPerson(ports: PersonPorts): Person {
  const ask = asking(ports);

  async function run(
    words: readonly string[],
    values: Readonly<Record<string, OptionValue>>,
    place: Place,
    focused?: string,
  ): Promise<InteractionAnswer> {
    const command = commandOf(await ports.commands(place), words);
    const { options, files } = typedOptions(command, words.slice(1), values, focused);
    const attachments = files.map(({ filename }, id) => ({ id: String(id), filename }));
    const data = { ...namesOf(command), options, ...(files.length > 0 && { attachments }) };
    const type = focused === undefined ? COMMAND : AUTOCOMPLETE;
    return ask({ type, application_id: command.application_id, data }, place, files);
  }

  const use = (
    { id, flags = 0, application_id: applicationId }: ShownMessage,
    data: Readonly<Record<string, unknown>>,
    place: Place,
  ): Promise<InteractionAnswer> =>
    ask(
      { type: COMPONENT, application_id: applicationId, message_id: id, message_flags: flags, data },
      place,
      [],
      id,
    );

  return {
    type(text, place) {
      const { words, values } = parseInvocation(text);
      return run(words, values, place);
    },
    slash: (name, options, place) => run(name.split(' '), options, place),
    autocomplete: (name, options, focused, place) => run(name.split(' '), options, place, focused),
    async contextMenu(name, target, place) {
      const commands = await ports.commands(place);
      const menus = commands.filter(({ type }) => type !== 1);
      const named = menus.filter((menu) => menu.name === name);
      // An entry of users and one of messages may have the same name.
      const fitting = 'channel_id' in target ? MESSAGE_MENU : USER_MENU;
      const found = named.find(({ type }) => type === fitting) ?? named[0];
      const command = commandOf(menus, [name], found?.type ?? fitting);
      const data = { ...namesOf(command), target_id: target.id };
      return ask({ type: COMMAND, application_id: command.application_id, data }, place);
    },
    click: (message, customId, place) => use(message, { component_type: BUTTON, custom_id: customId }, place),
    select: (message, customId, values, place) =>
      use(message, { component_type: typeIn(message, customId), custom_id: customId, values }, place),
    submit({ id, application, custom_id, components }, values, place) {
      const files: OptionFile[] = [];
      const filledIn = fieldsIn(components).map((field) => filled(field, values, files));
      const attachments = files.map(({ filename }, index) => ({ id: String(index), filename }));
      const data = { id, custom_id, components: filledIn, ...(files.length > 0 && { attachments }) };
      return ask({ type: SUBMIT, application_id: application.id, data }, place, files);
    },
  };
}

const namesOf = ({ id, version, name, name_default, type, guild_id }: IndexedCommand) => ({
  ...{ id, version, type, name: name_default ?? name },
  ...(guild_id !== undefined && { guild_id }),
});

interface Field {
  readonly type: number;
  readonly custom_id?: string;
  readonly components?: readonly object[];
  readonly component?: object;
  readonly accessory?: object;
}

const isField = (one: object): one is Field => 'type' in one;

/** All components that have a custom id, at all levels. */
function fieldsIn(components: readonly object[]): readonly Field[] {
  return components.filter(isField).flatMap((one) => {
    const inner = [
      ...(one.components ?? []),
      ...[one.component, one.accessory].flatMap((each) => each ?? []),
    ];
    return [...(one.custom_id === undefined ? [] : [one]), ...fieldsIn(inner)];
  });
}

const typeIn = ({ components = [] }: ShownMessage, customId: string): number =>
  fieldsIn(components).find((field) => field.custom_id === customId)?.type ?? 0;

/** A field with its value. @param files Gets the files of the field, which names them by their places there. */
function filled(
  { type, custom_id }: Field,
  values: Readonly<Record<string, FieldValue>>,
  files: OptionFile[],
): object {
  const value = values[custom_id ?? ''];
  if (value === undefined || value === null) return { type, custom_id };
  if (typeof value === 'string' || typeof value === 'boolean') return { type, custom_id, value };
  return {
    ...{ type, custom_id },
    values: value.map((one) => (typeof one === 'string' ? one : String(files.push(one) - 1))),
  };
}

/** Waits for what the person is shown of one interaction. */
function answerTo(
  ports: Pick<PersonPorts, 'listen'>,
  { nonce, sourceId }: Waiting,
): { readonly answer: Promise<InteractionAnswer>; cancel(): void } {
  let stop = (): void => undefined;
  const answer = new Promise<InteractionAnswer>((resolve, reject) => {
    const state = new AnswerState(nonce, sourceId);
    let timer = setTimeout(
      () => end(() => reject(new Error('Nothing came of the interaction.'))),
      PATIENCE_MS,
    );
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      unlisten();
      settle();
    };
    const unlisten = ports.listen((t, d) => {
      const step = state.hear(t, d);
      if (step === null) return;
      if (step !== 'accepted' && step !== 'preparing') return end(() => resolve(step));
      clearTimeout(timer);
      const settle = () => end(() => resolve(state.quiet()));
      timer = setTimeout(settle, step === 'accepted' ? GRACE_MS : PREPARING_MS);
    });
    stop = () => end(() => undefined);
  });
  return { answer, cancel: () => stop() };
}

/** The state of one interaction so far. */
class AnswerState {
  readonly #nonce: string;
  readonly #sourceId: string | null;
  #id: string | null = null;
  #message: ShownMessage | null = null;
  #updated: ShownMessage | null = null;
  #isAccepted = false;

  constructor(nonce: string, sourceId: string | null) {
    this.#nonce = nonce;
    this.#sourceId = sourceId;
  }

  /** The answer as far as it is known when nothing more comes. */
  quiet(): InteractionAnswer {
    if (this.#message) return shown(this.#message);
    return this.#updated ? { kind: 'update', message: this.#updated } : { kind: 'acknowledged' };
  }

  hear(t: string, d: object): InteractionAnswer | 'accepted' | 'preparing' | null {
    const isOwn = 'nonce' in d && d.nonce === this.#nonce;
    if (t === 'INTERACTION_CREATE' && isOwn && 'id' in d) this.#id = String(d.id);
    if (t === 'INTERACTION_FAILURE' && isOwn)
      return { kind: 'failed', reason: 'reason_code' in d ? Number(d.reason_code) : 1 };
    if (t === 'INTERACTION_MODAL_CREATE' && isOwn && isModal(d)) return { kind: 'modal', modal: d };
    if (t === 'APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE' && isOwn && hasChoices(d))
      return { kind: 'choices', choices: d.choices };
    if ((t === 'MESSAGE_CREATE' || t === 'MESSAGE_UPDATE') && isMessage(d)) this.#see(t, d);
    if (t === 'INTERACTION_SUCCESS' && isOwn) this.#isAccepted = true;
    return this.#step();
  }

  #see(t: string, message: ShownMessage): void {
    const isAnswer = this.#id !== null && message.interaction_metadata?.id === this.#id;
    if (t === 'MESSAGE_CREATE' && isAnswer) this.#message ??= message;
    else if (this.#message?.id === message.id) this.#message = message;
    else if (t === 'MESSAGE_UPDATE' && message.id === this.#sourceId) this.#updated = message;
  }

  #step(): InteractionAnswer | 'accepted' | 'preparing' | null {
    if (!this.#isAccepted) return null;
    if (this.#message)
      return ((this.#message.flags ?? 0) & LOADING) !== 0 ? 'preparing' : shown(this.#message);
    return this.#updated ? { kind: 'update', message: this.#updated } : 'accepted';
  }
}

const shown = (message: ShownMessage): InteractionAnswer => ({
  kind: 'message',
  message,
  isEphemeral: ((message.flags ?? 0) & EPHEMERAL) !== 0,
});

const isMessage = (d: object): d is ShownMessage => 'id' in d && 'content' in d;
const isModal = (d: object): d is ShownModal => 'custom_id' in d && 'components' in d;
const hasChoices = (
  d: object,
): d is { readonly choices: readonly { readonly name: string; readonly value: string | number }[] } =>
  'choices' in d;
