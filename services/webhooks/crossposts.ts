import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { Webhook } from '../../engine/webhook/webhook.ts';
import { snowflakeMs, type WebhookId } from '../../protocol/ids.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { QueuedCrosspost, WebhookStore } from '../../storage/webhook/port.ts';
import { QueuedWork } from '../queuedwork.ts';

interface CrosspostPorts {
  readonly store: Pick<WebhookStore, 'followers' | 'crossposts' | 'dropCrosspost'>;
  readonly messages: Pick<MessageStore, 'get'>;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly routing: Pick<Routing, 'owns'>;
  readonly wheel: Wheel;
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
}

/** Queued messages read together, followers read together, and followers asked at once. */
const QUEUED_MAX = 100;
const FOLLOWERS_PAGE = 100;
const AT_ONCE = 8;
/** Work that still fails after this time is dropped. */
const AGE_MS_MAX = 86_400_000;

/**
 * Copies published messages, their changes and their deletions to the channels that follow them. The work is queued in the
 * commit that makes it necessary and removed once every follower has it; each follower applies it once, however often it is
 * sent. So a crash loses no follower and writes no copy twice.
 */
export class Crossposts {
  readonly #ports: CrosspostPorts;
  readonly #queue: QueuedWork;

  constructor(ports: CrosspostPorts) {
    const { wheel, scope, onFault } = ports;
    this.#ports = ports;
    this.#queue = new QueuedWork({ work: () => this.#work(), wheel, scope, onFault });
  }

  /** Looks for work that an earlier process has left, and from then on now and then. */
  start(): void {
    this.#queue.start();
  }

  /** There is work in the queue. */
  wake(): void {
    this.#queue.wake();
  }

  async #work(): Promise<'done' | 'failed'> {
    const { store, routing, scope } = this.#ports;
    let isDone = true;
    // Page by page: what fails, or what another shard owns, must not keep later messages from their followers.
    for (let after: string | null = null; !scope.over; ) {
      const page: QueuedCrosspost[] = await store.crossposts(after, QUEUED_MAX);
      for (const one of page)
        if (!scope.over && routing.owns(one.guildId)) isDone = (await this.#publish(one)) && isDone;
      after = page.at(-1)?.id ?? null;
      if (page.length < QUEUED_MAX) break;
    }
    return isDone ? 'done' : 'failed';
  }

  /** Whether all followers have the message now, or its work was dropped. */
  async #publish(queued: QueuedCrosspost): Promise<boolean> {
    const { store, messages, scope, nowMs } = this.#ports;
    const { guildId, channelId, messageId, id } = queued;
    const [message] = await messages.get(guildId, [{ channelId, id: messageId }]);
    const source = message ? { message, guildId } : null;
    let isDone = true;
    for (let after: WebhookId | null = null; ; ) {
      const page: Webhook[] = await store.followers(channelId, after, FOLLOWERS_PAGE);
      for (let at = 0; at < page.length; at += AT_ONCE) {
        const bring = (webhook: Webhook) => this.#bring(webhook, queued, source);
        const brought = await Promise.all(page.slice(at, at + AT_ONCE).map(bring));
        isDone &&= brought.every(Boolean);
        if (scope.over) return false;
      }
      after = page.at(-1)?.id ?? null;
      if (page.length < FOLLOWERS_PAGE) break;
    }
    const isOld = snowflakeMs(id) < nowMs() - AGE_MS_MAX;
    if (isDone || isOld) await store.dropCrosspost(queued);
    return isDone || isOld;
  }

  async #bring(
    { id: webhookId, guild_id: followerId }: Webhook,
    { messageId: sourceId, creates }: QueuedCrosspost,
    source: GuildCommands['syncCrosspost']['input']['source'],
  ): Promise<boolean> {
    const { guilds } = this.#ports;
    try {
      // A refusal (the guild is gone) is final.
      await guilds.call(followerId, 'syncCrosspost', { webhookId, sourceId, source, creates }, SYSTEM);
      return true;
    } catch (error) {
      this.#queue.report(error);
      return false;
    }
  }
}
