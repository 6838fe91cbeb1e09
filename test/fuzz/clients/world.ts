import { GatewayClient } from '../../support/gateway-client.ts';
import { validateResponse } from '../../support/openapi.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import type { Sent } from './bodies.ts';
import { Bot, LIBRARIES } from './bots.ts';
import { type Answer, Sender } from './send.ts';

const CONNECTIONS = 8;

/** Operations that delete what a body created, so that no limit of the guild ends the run. */
const TAKEN_BACK: Readonly<
  Record<string, { readonly to: string; readonly param: string; readonly key: string }>
> = {
  create_guild_channel: { to: 'delete_channel', param: 'channel_id', key: 'id' },
  create_guild_role: { to: 'delete_guild_role', param: 'role_id', key: 'id' },
  create_lobby: { to: 'delete_lobby', param: 'lobby_id', key: 'id' },
  create_channel_invite: { to: 'invite_revoke', param: 'code', key: 'code' },
  create_stage_instance: { to: 'delete_stage_instance', param: 'channel_id', key: 'channel_id' },
};

const OPENING = {
  message: { content: 'a plain message' },
  rich: { embeds: [{ title: 'Tides', fields: [{ name: 'Low', value: '04:12' }] }] },
  polled: { poll: { question: { text: 'Sail?' }, answers: [{ poll_media: { text: 'Yes' } }], duration: 1 } },
  filed: { attachments: [{ id: '0' }], content: 'files' },
};

/** A server in a process of its own, a person at its gateway, and a bot of each library. */
export class World {
  readonly #server: TestServer;
  readonly #sender: Sender;
  readonly #ids: Record<string, string>;
  #bots: readonly Bot[] = [];
  #person: GatewayClient | null = null;
  #sentinels = 0;

  private constructor(server: TestServer) {
    const { info } = server;
    this.#server = server;
    this.#sender = new Sender(info.api, CONNECTIONS);
    this.#ids = {
      guild: info.guild.id,
      text: info.guild.text_channel_id,
      voice: info.guild.voice_channel_id,
      bot: info.bot.id,
      application: info.application.id,
      person: info.users[0]!.id,
      other: info.users[1]!.id,
    };
  }

  static async start(): Promise<World> {
    const server = await startServer({ bots: LIBRARIES.length, relayed: false, set: { log_level: 'error' } });
    const world = new World(server);
    try {
      await world.#furnish();
      await world.restartBots();
      return world;
    } catch (error) {
      await world.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#bots.map((bot) => bot.stop()));
    if (this.#person) await this.#person.close();
    this.#sender.close();
    await this.#server.stop();
  }

  /** Bots that log in again are sent the guild as all bodies until now have left it. */
  async restartBots(): Promise<void> {
    await Promise.all(this.#bots.map((bot) => bot.stop()));
    const { api, guild, bots } = this.#server.info;
    const env = { API: api, GUILD: guild.id, CHANNEL: guild.text_channel_id };
    this.#bots = await Promise.all(
      LIBRARIES.map((library, index) => Bot.start(library, { ...env, TOKEN: bots[index]!.token })),
    );
  }

  /** Messages that edits and reactions are about. */
  async prepare(): Promise<void> {
    for (const [name, body] of Object.entries(OPENING)) {
      const message = (await this.#must('create_message', { channel_id: '@text@' }, body)) as {
        id: string;
        attachments: { id: string }[];
      };
      this.#ids[name] = message.id;
      if (message.attachments[0]) this.#ids.attachment = message.attachments[0].id;
    }
  }

  /** Sends one body; null when it went over the gateway and stands. Faults of the answer are put into `faults`. */
  async send(sent: Sent, faults: string[]): Promise<number | null> {
    if (sent.to === 'op 3') return this.#updatePresence(sent.body);
    const answer = await this.#ask(sent.as, sent.to, sent.params, sent.body);
    const { status, body } = answer;
    if (status >= 500) faults.push(`${sent.to} was answered ${status} ${JSON.stringify(body)}`);
    else faults.push(...validateResponse(sent.to, status, body).map((wrong) => `schema: ${wrong}`));
    if (status < 300) await this.#takeBack(sent.to, answer);
    return status;
  }

  /** Waits until every bot has taken in what was sent; what their libraries threw. Dead bots log in again. */
  async settle(): Promise<string[]> {
    this.#sentinels += 1;
    const content = `sentinel ${this.#sentinels}`;
    await this.#must('create_message', { channel_id: '@text@' }, { content });
    await Promise.all(this.#bots.map((bot) => bot.sees(content)));
    const faults = this.#bots.flatMap((bot) => bot.takeFaults());
    if (!this.#bots.every(({ isAlive }) => isAlive)) await this.restartBots();
    return faults;
  }

  /** Lines that the server logged as errors. */
  get complaints(): readonly string[] {
    return this.#server.complaints;
  }

  async #furnish(): Promise<void> {
    const make = async (name: string, type: number) => {
      const made = await this.#must('create_guild_channel', { guild_id: '@guild@' }, { name, type });
      this.#ids[name] = (made as { id: string }).id;
    };
    for (const [name, type] of Object.entries({ spare: 0, category: 4, news: 5, stage: 13, forum: 15 }))
      await make(name, type);
    const role = await this.#must(
      'create_guild_role',
      { guild_id: '@guild@' },
      { name: 'Pilot', mentionable: true },
    );
    this.#ids.role = (role as { id: string }).id;
    const lobby = await this.#must(
      'create_lobby',
      {},
      { members: [{ id: '@person@' }], idle_timeout_seconds: 604_800 },
    );
    this.#ids.lobby = (lobby as { id: string }).id;
  }

  async #updatePresence(d: unknown): Promise<null> {
    const { gateway, users } = this.#server.info;
    if (!this.#person?.isOpen)
      this.#person = await GatewayClient.ready(gateway, { token: users[0]!.token, intents: 0 });
    this.#person.received.length = 0;
    this.#person.sendRaw(`{"op":3,"d":${this.#filled(d)}}`);
    return null;
  }

  async #takeBack(to: string, { body }: Answer): Promise<void> {
    const back = TAKEN_BACK[to];
    const id = back && (body as Record<string, unknown> | undefined)?.[back.key];
    if (back && typeof id === 'string')
      await this.#ask('bot', back.to, { guild_id: '@guild@', [back.param]: id }, undefined);
  }

  async #must(to: string, params: Sent['params'], body: unknown): Promise<unknown> {
    const answer = await this.#ask('bot', to, params, body);
    if (answer.status >= 300)
      throw new Error(`${to} was answered ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  #ask(as: Sent['as'], to: string, params: Sent['params'], body: unknown): Promise<Answer> {
    const { bots, users } = this.#server.info;
    const authorization = as === 'bot' ? `Bot ${bots[0]!.token}` : `Bearer ${users[0]!.token}`;
    const text = body === undefined ? undefined : this.#filled(body);
    const real = Object.entries(params).map(([key, value]) => [key, this.#named(value)]);
    return this.#sender.ask(authorization, { to, params: Object.fromEntries(real), text });
  }

  /** JSON of a body with the ids of this world in it. */
  #filled(body: unknown): string {
    return this.#named(JSON.stringify(body) ?? 'null');
  }

  #named(text: string): string {
    return text.replaceAll(/@(\w+)@/g, (whole, name: string) => this.#ids[name] ?? whole);
  }
}
