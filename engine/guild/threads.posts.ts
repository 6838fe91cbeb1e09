import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL, FORUMS } from '../../protocol/channeltypes.ts';
import { type ChannelId, firstMessageIdOf } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { composeMessage } from '../channel/compose.ts';
import type { CreateInput, Written } from '../channel/draft.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import { threadMemberObject } from '../thread/thread.ts';
import { auditEntry } from './auditing.ts';
import { bitsIn, explicitRefusal, verificationRefusal } from './authorize.ts';
import { moderated, moderatedTitle } from './automod.messages.ts';
import type { GuildFact } from './facts.ts';
import { channelFrom } from './founding.parts.ts';
import type { Guild, GuildChannel } from './guild.ts';
import { needsSlowmode, scopeOf, threadWaitRefusal } from './messages.scope.ts';
import { needsNamed } from './messages.ts';
import {
  activeRefusal,
  dueMsOf,
  memberOf,
  newThread,
  type ThreadDraft,
  threadChanges,
} from './threads.rules.ts';
import { threadRecord } from './threads.state.ts';
import { tagRefusal } from './threads.tags.ts';
import type { ThreadView } from './threads.ts';
import type { GuildTopic } from './topic.ts';

export interface PostDraft extends ThreadDraft {
  readonly applied_tags?: readonly string[] | null;
}

type PostCommands = {
  /** A thread of a forum with its first message, which has the id of the thread: `id`, a new one. */
  createPost: {
    input: {
      readonly channelId: ChannelId;
      readonly id: ChannelId;
      readonly draft: PostDraft;
      readonly first: CreateInput;
    };
    value: { readonly thread: ThreadView; readonly written: Written };
  };
};

type PostInput = PostCommands['createPost']['input'];

function createPost(
  guild: Guild,
  { channelId, id, draft, first }: PostInput,
  by: By,
  env: Env,
): Outcome<PostCommands['createPost']['value'], GuildFact> {
  const forum = guild.channels.get(channelId);
  if (!forum) return refused(refusal('UNKNOWN_CHANNEL'));
  if (!FORUMS.has(forum.type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  const tags = [...new Set(draft.applied_tags ?? [])];
  const writes = (bitsIn(guild, by, forum, env.nowMs) & P.SEND_MESSAGES) !== 0n;
  const no = writes
    ? (postingRefusal(guild, forum, first, by, env) ?? tagRefusal(guild, forum, tags, [], by, env))
    : refusal('MISSING_PERMISSIONS');
  if (no) return refused(no);
  const ownerId = first.from?.fields.author.id ?? by.userId;
  const given = { id, type: CHANNEL.PUBLIC_THREAD, ownerId };
  const bare = { ...newThread(guild, forum, draft, given, env), applied_tags: tags };
  const member = memberOf(ownerId, env);
  const isMember = Boolean(guild.members.get(ownerId));
  const members = isMember ? [member] : [];
  const thread = threadRecord(bare, members).thread;
  const scope = scopeOf(guild, channelFrom({ ...forum, ...thread }), by, env, first.from, forum);
  if (!scope.ok) return scope;
  const composed = composeMessage(scope.value, first, by, env);
  const writing = { guild, by, env, from: first.from };
  const judged = moderated(scope.value, withId(composed, id), writing);
  const outcome = moderatedTitle(forum, draft.name, judged, writing);
  if (!outcome.ok) return outcome;
  const view = { ...thread, ...(isMember && { member: threadMemberObject(id, member) }) };
  const entry = { actionType: AUDIT.THREAD_CREATE, targetId: id, changes: threadChanges(null, thread) };
  return accepted({ thread: view, written: outcome.value }, [
    { type: 'threadCreated', thread, dueMs: dueMsOf(thread), members },
    ...outcome.facts,
    auditEntry(env, by, entry),
  ]);
}

/** Why the caller cannot create another post now. A webhook is not a member. */
const postingRefusal = (guild: Guild, forum: GuildChannel, first: CreateInput, by: By, env: Env) =>
  explicitRefusal(guild, by, first) ??
  (first.from ? null : (verificationRefusal(guild, by, env) ?? threadWaitRefusal(guild, forum, by, env))) ??
  activeRefusal(guild, CHANNEL.PUBLIC_THREAD);

function withId(outcome: Outcome<Written, GuildFact>, threadId: ChannelId): Outcome<Written, GuildFact> {
  if (!outcome.ok) return outcome;
  const id = firstMessageIdOf(threadId);
  const { value, facts } = outcome;
  return accepted(
    { ...value, message: { ...value.message, id } },
    facts.map((fact) =>
      fact.type === 'messageCreated' ? { ...fact, message: { ...fact.message, id } } : fact,
    ),
  );
}

/** Posts of forums and media channels. */
export const posts: GuildTopic<PostCommands, never> = {
  commands: {
    createPost: {
      needs: ({ channelId, first }, guild, by): Needs => ({
        ...needsNamed(first.draft.content, guild),
        ...(first.from ? {} : needsSlowmode(guild, channelId, by, 'threads')),
      }),
      decide: createPost,
    },
  },
  facts: {},
};
