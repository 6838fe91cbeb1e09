import type { Commands, Consequence, Env, Topic } from '../kernel/aggregate.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import type { GuildFacts } from './facts.ts';
import type { Guild } from './guild.ts';

export interface GuildShape {
  readonly state: Guild;
  readonly facts: GuildFacts;
  readonly needs: Needs;
  readonly dispatch: Dispatch;
  readonly env: Env;
  readonly row: {
    /** Bits that the caller needs where the channel is a thread, in place of those of the operation. */
    readonly requiresInThread?: bigint;
    /** No permission of moderation changes the decision, so that a second factor does not matter. */
    readonly anyFactor?: true;
    /** The command changes something and requires no permission for it: members who may only read are refused. */
    readonly acts?: true;
  };
}

/** One topic of the guild: the commands `C`, and the facts named `K`. */
export type GuildTopic<C extends Commands, K extends keyof GuildFacts> = Topic<GuildShape, C, K>;

export type GuildConsequence = Consequence<GuildShape>;
