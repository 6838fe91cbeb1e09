import type { AppCommand } from '../../engine/appcommand/appcommand.ts';
import { writeCommand } from '../../engine/appcommand/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import { CALLBACK, INTERACTION } from '../../protocol/interactions.ts';
import type { Callback, Invocation } from '../../services/interactions/ports.ts';
import { openInstance, type RecordingSink, until } from './instance.ts';

/** The interaction object as the application receives it. */
interface Sent {
  readonly id: string;
  readonly token: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A message as its reader receives it. */
interface Shown {
  readonly id: string;
  readonly channel_id: string;
  readonly content: string;
  readonly flags: number;
  readonly mention_everyone: boolean;
  readonly mentions: readonly { readonly id: string }[];
  readonly interaction_metadata?: Readonly<Record<string, unknown>>;
}

export const wellDone = <Value>(reply: Reply<Value>): Value => {
  if (!reply.ok) throw new Error(JSON.stringify(reply.refusal));
  return reply.value;
};
export const codeOf = (reply: Reply<unknown>): number | null => (reply.ok ? null : reply.refusal.code);

type Instance = Awaited<ReturnType<typeof openInstance>>;
type Connection = Awaited<ReturnType<Instance['connect']>>;
type ReceivedRequest = Partial<Invocation> & Pick<Invocation, 'type' | 'data'>;

/** The application that is used, and the connection of its bot that receives the interaction. */
interface By {
  readonly application?: Application;
  readonly sink?: RecordingSink;
}

const isMessage = (type: Callback['type']): boolean =>
  type === CALLBACK.MESSAGE || type === CALLBACK.UPDATE_MESSAGE || type === CALLBACK.DEFERRED_MESSAGE;

/** An instance on a virtual clock, whose owner uses commands of applications over the services, without any transport. */
class InteractionInstance {
  readonly instance: Instance;
  readonly bot: Connection;
  readonly person: Connection;
  readonly channelId: ChannelId;
  /** The application of the instance's bot. */
  readonly own: Application;
  #nonces = 0;

  constructor(instance: Instance, bot: Connection, person: Connection, own: Application) {
    [this.instance, this.bot, this.person, this.own] = [instance, bot, person, own];
    const guild = bot.sink.dispatches.find(({ t }) => t === 'GUILD_CREATE')?.d as {
      readonly channels: readonly { readonly id: ChannelId; readonly type: number }[];
    };
    this.channelId = guild.channels.find(({ type }) => type === 0)!.id;
  }

  /** Registers a command of an application, globally or in one guild. */
  async command(
    raw: object,
    { id }: Pick<Application, 'id'> = this.own,
    guildId: GuildId | null = null,
  ): Promise<AppCommand> {
    const { instance } = this;
    const scope = {
      ...{ applicationId: id, guildId, commands: [], creates: null },
      installations: [0, 1] as const,
    };
    const env = { nowMs: instance.clock.now(), nextId: instance.foundation.nextId };
    const written = writeCommand(scope, raw, env);
    if (!written.ok) throw new Error(JSON.stringify(written.refusal));
    await instance.commit(id, written.facts);
    instance.features.interactions.forget(id);
    return written.value.command;
  }

  dataOf({ id, version, name, type }: AppCommand, more: object = {}) {
    return { ...{ id, version, name, type }, ...more };
  }

  ask(asked: ReceivedRequest, { id: applicationId }: Pick<Application, 'id'> = this.own) {
    const { instance, channelId, person } = this;
    this.#nonces += 1;
    return instance.features.interactions.invoke({
      ...{ ownerId: instance.guildId, guildId: instance.guildId, channelId, applicationId },
      ...{ userId: instance.ownerId, sessionId: person.session.id, nonce: `nonce ${this.#nonces}` },
      ...{ locales: ['de'], messageId: null, isEphemeral: false, uploads: {} },
      ...asked,
    });
  }

  /** Sends an invocation, and waits until the bot's connection has it. */
  async send(
    asked: ReceivedRequest,
    { application = this.own, sink = this.bot.sink }: By = {},
  ): Promise<Sent> {
    const before = sink.dispatches.length;
    wellDone(await this.ask(asked, application));
    const found = () => sink.dispatches.slice(before).find(({ t }) => t === 'INTERACTION_CREATE');
    await until(() => found() !== undefined, 'INTERACTION_CREATE');
    return found()!.d as Sent;
  }

  use(one: AppCommand, more: object = {}): Promise<Sent> {
    return this.send({ type: INTERACTION.COMMAND, data: this.dataOf(one, more) });
  }

  /** The press of a button. */
  click(messageId: string, customId: string): ReceivedRequest {
    const data = { component_type: 2, custom_id: customId };
    return { type: INTERACTION.COMPONENT, messageId: messageId as never, data };
  }

  answer({ id, token }: Sent, type: Callback['type'], data: object = {}) {
    const said = isMessage(type) ? { draft: data, data: null } : { draft: {}, data };
    const callback: Callback = { type, ...said, attachments: [], keep: null };
    return this.instance.features.interactions.answer(id, token, callback);
  }

  async followUp({ token, application_id: applicationId }: Sent, draft: object) {
    const { tokenMessages } = this.instance.features.interactions;
    const target = await tokenMessages.find(applicationId as never, token);
    if (!target?.ok) throw new Error('The token opens nothing.');
    return target.value.execute({ draft, attachments: [], withComponents: true });
  }

  /** Waits for a dispatch that fits. */
  async shown(sink: RecordingSink, t: string, fits: (d: Shown) => boolean = () => true): Promise<Shown> {
    const found = () => sink.dispatches.find((each) => each.t === t && fits(each.d as Shown))?.d;
    await until(() => found() !== undefined, t);
    return found() as Shown;
  }
}

export async function openInteractions(
  config: Parameters<typeof openInstance>[0] = {},
): Promise<InteractionInstance> {
  const instance = await openInstance(config);
  const bot = await instance.connect();
  const person = await instance.connect((await instance.identity.issue(instance.ownerId, 'user')).reveal());
  await until(() => bot.sink.names.includes('GUILD_CREATE'), 'GUILD_CREATE');
  const own = await instance.storage.applications.byBot(instance.botId);
  if (!own) throw new Error('The bot has no application.');
  return new InteractionInstance(instance, bot, person, own);
}
