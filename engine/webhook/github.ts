import { LIMITS } from '../../protocol/limits.ts';
import { cut, embedWith, type Report } from './report.ts';

type Text = string | null;

interface GithubUser {
  readonly login: string;
  readonly html_url?: Text;
  readonly avatar_url?: Text;
}
interface Issue {
  readonly number: number;
  readonly html_url?: Text;
  readonly title: string;
  readonly body?: Text;
  /** Set on an issue that is a pull request. */
  readonly pull_request?: unknown;
  readonly merged?: boolean | null;
  readonly draft?: boolean | null;
}
interface Comment {
  readonly html_url?: Text;
  readonly body?: Text;
  readonly commit_id?: Text;
}
interface Commit {
  readonly id: string;
  readonly url?: Text;
  readonly message: string;
  readonly author?: { readonly name?: Text; readonly username?: Text } | null;
}
interface Suite {
  readonly conclusion?: Text;
  readonly head_branch?: Text;
  readonly head_sha?: Text;
  readonly app?: { readonly name?: Text } | null;
}
interface Run {
  readonly name?: Text;
  readonly html_url?: Text;
  readonly conclusion?: Text;
  readonly head_branch?: Text;
  readonly check_suite?: Suite | null;
  readonly output?: { readonly title?: Text; readonly summary?: Text } | null;
}

/** The fields of a GitHub webhook's body that are used. The event's kind is recognised by its fields. */
export interface GithubBody {
  readonly action?: Text;
  readonly ref?: Text;
  readonly ref_type?: Text;
  /** Only the body of `create` has it, besides that of `push`. */
  readonly master_branch?: Text;
  readonly deleted?: boolean | null;
  readonly forced?: boolean | null;
  readonly compare?: Text;
  readonly commits?: readonly Commit[] | null;
  readonly sender?: GithubUser | null;
  readonly repository?: { readonly full_name: string; readonly html_url?: Text } | null;
  readonly issue?: Issue | null;
  readonly pull_request?: Issue | null;
  readonly comment?: Comment | null;
  readonly review?: { readonly html_url?: Text; readonly body?: Text; readonly state?: Text } | null;
  readonly release?: {
    readonly tag_name: string;
    readonly name?: Text;
    readonly html_url?: Text;
    readonly body?: Text;
  } | null;
  readonly forkee?: { readonly full_name: string; readonly html_url?: Text } | null;
  readonly member?: GithubUser | null;
  readonly discussion?: Issue | null;
  readonly answer?: Comment | null;
  readonly check_run?: Run | null;
  readonly check_suite?: Suite | null;
  readonly workflow_run?: Run | null;
  readonly starred_at?: Text;
}

const COLOR = {
  push: 0x7289da,
  opened: 0x009800,
  issue: 0xeb6420,
  comment: 0xe68d60,
  discussion: 0xa57bd4,
  star: 0xfcd200,
  closed: 0xd04437,
  merged: 0x8250df,
} as const;

const COMMITS_SHOWN = 5;
const SUBJECT_CHARS = 72;
const BODY_CHARS = 500;

/** Characters that would format or link, escaped: names and subjects are shown as they are written. */
const plain = (text: string): string => text.replace(/[\\`*_~|[\]<>]/g, '\\$&');

const ucfirst = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

interface EventSummary {
  /** The title, after the repository. */
  readonly title: string;
  readonly url?: Text;
  readonly body?: Text;
  readonly color?: number;
}

type EventReader = (body: GithubBody) => EventSummary | null;

function push({ ref, commits, compare, forced, deleted }: GithubBody): EventSummary | null {
  if (!ref || !commits || deleted || commits.length === 0) return null;
  const lines = commits.slice(0, COMMITS_SHOWN).map(({ id, url, message, author }) => {
    const subject = plain(cut(message.split('\n', 1)[0] ?? '', SUBJECT_CHARS));
    const short = `\`${id.slice(0, 7)}\``;
    const by = author?.username ?? author?.name;
    return `${url ? `[${short}](${url})` : short} ${subject}${by ? ` - ${plain(by)}` : ''}`;
  });
  const more = commits.length - lines.length;
  const count = `${commits.length} new commit${commits.length === 1 ? '' : 's'}`;
  return {
    title: `${forced ? 'Force-pushed ' : ''}${count}`,
    url: compare ?? null,
    body: [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n'),
    color: COLOR.push,
  };
}

/** `create` and `delete` of a branch or tag. */
const reference: EventReader = ({ ref, ref_type, master_branch, commits }) => {
  if (!ref || !ref_type || commits) return null;
  const done = master_branch ? 'New' : 'Deleted';
  return { title: `${done} ${ref_type} ${master_branch ? 'created' : ''}: ${ref}`.replace(' :', ':') };
};

/** Titles of actions on an issue or pull request. Other actions are ignored. */
const ACTIONS: ReadonlySet<string> = new Set(['opened', 'closed', 'reopened']);

const pullRequest: EventReader = ({ action, pull_request: pull }) => {
  if (!pull || !action) return null;
  const merged = action === 'closed' && pull.merged === true;
  if (!ACTIONS.has(action) && action !== 'ready_for_review') return null;
  const done = merged ? 'merged' : action.replaceAll('_', ' ');
  return {
    title: `Pull request ${done}: #${pull.number} ${pull.title}`,
    url: pull.html_url ?? null,
    body: action === 'opened' ? (pull.body ?? null) : null,
    color: merged ? COLOR.merged : action === 'closed' ? COLOR.closed : COLOR.opened,
  };
};

const issue: EventReader = ({ action, issue: one }) => {
  if (!one || !action || !ACTIONS.has(action)) return null;
  return {
    title: `Issue ${action}: #${one.number} ${one.title}`,
    url: one.html_url ?? null,
    body: action === 'opened' ? (one.body ?? null) : null,
    color: action === 'closed' ? COLOR.closed : COLOR.issue,
  };
};

/** New comments on issues, pull requests, commits and discussions. Edits and deletions are ignored. */
const comment: EventReader = ({ action, comment: one, issue: on, pull_request: pull, discussion }) => {
  if (!one || action !== 'created') return null;
  const said = { url: one.html_url ?? null, body: one.body ?? null, color: COLOR.comment };
  if (pull) return { ...said, title: `New review comment on pull request #${pull.number}: ${pull.title}` };
  if (discussion)
    return { ...said, title: `New comment on discussion #${discussion.number}: ${discussion.title}` };
  if (!on) return { ...said, title: `New comment on commit \`${(one.commit_id ?? '').slice(0, 7)}\`` };
  const kind = on.pull_request ? 'pull request' : 'issue';
  return { ...said, title: `New comment on ${kind} #${on.number}: ${on.title}` };
};

const review: EventReader = ({ action, review: one, pull_request: pull }) => {
  if (!one || !pull || action !== 'submitted') return null;
  const state = (one.state ?? 'submitted').replaceAll('_', ' ');
  return {
    title: `Pull request review ${state}: #${pull.number} ${pull.title}`,
    url: one.html_url ?? null,
    body: one.body ?? null,
    color: state === 'approved' ? COLOR.opened : COLOR.comment,
  };
};

const release: EventReader = ({ action, release: one }) => {
  if (!one || action !== 'published') return null;
  return {
    title: `New release published: ${one.name || one.tag_name}`,
    url: one.html_url ?? null,
    body: one.body ?? null,
    color: COLOR.opened,
  };
};

const discussion: EventReader = ({ action, discussion: one, answer }) => {
  if (!one) return null;
  const answered = action === 'answered' && answer;
  if (action !== 'created' && !answered) return null;
  const done = answered ? 'answered' : 'created';
  const { html_url, body } = answered ? answer : one;
  return {
    title: `Discussion ${done}: #${one.number} ${one.title}`,
    url: html_url ?? null,
    body: body ?? null,
    color: COLOR.discussion,
  };
};

const fork: EventReader = ({ forkee }) =>
  forkee
    ? { title: `Fork created: ${forkee.full_name}`, url: forkee.html_url ?? null, color: COLOR.star }
    : null;

const member: EventReader = ({ action, member: who }) =>
  who && action === 'added'
    ? { title: `New collaborator added: ${who.login}`, url: who.html_url ?? null }
    : null;

/** `watch` (action started) and `star` (action created). */
const star: EventReader = ({ action, starred_at, repository }) =>
  repository && (action === 'started' || (action === 'created' && starred_at))
    ? { title: 'New star added', url: repository.html_url ?? null, color: COLOR.star }
    : null;

const GOOD: ReadonlySet<string> = new Set(['success', 'neutral', 'skipped']);

/** Finished runs of checks and workflows. */
const run: EventReader = ({ action, check_run: check, check_suite: suite, workflow_run: workflow }) => {
  const one = check ?? workflow;
  const conclusion = one?.conclusion ?? suite?.conclusion;
  if (action !== 'completed' || !conclusion) return null;
  const name = one?.name ?? suite?.app?.name ?? 'Checks';
  const branch = one?.head_branch ?? one?.check_suite?.head_branch ?? suite?.head_branch;
  const done = conclusion.replaceAll('_', ' ');
  return {
    title: `${ucfirst(name)} ${done}${branch ? ` on ${branch}` : ''}`,
    url: one?.html_url ?? null,
    body: one?.output?.title ?? null,
    color: GOOD.has(conclusion) ? COLOR.opened : COLOR.closed,
  };
};

/** Tried in this order: the most specific body first. */
const EVENTS: readonly EventReader[] = [
  review,
  comment,
  pullRequest,
  issue,
  discussion,
  release,
  fork,
  member,
  run,
  push,
  reference,
  star,
];

/** Branch of a push, for the title. */
const branchOf = ({ ref, commits }: GithubBody): string => {
  if (!ref || !commits) return '';
  return `:${ref.replace(/^refs\/(?:heads|tags)\//, '')}`;
};

/**
 * The message of the body of a GitHub webhook; null for an event without a message (a ping, a label). Untrusted text
 * is cut, and notifies no user, since it is in an embed.
 *
 * @source https://docs.github.com/en/webhooks/webhook-events-and-payloads
 */
export function githubReport(body: GithubBody): Report | null {
  for (const read of EVENTS) {
    const said = read(body);
    if (!said) continue;
    const { sender, repository } = body;
    const where = repository ? `[${repository.full_name}${branchOf(body)}] ` : '';
    const embed = embedWith({
      title: cut(`${where}${said.title}`, LIMITS.embed_title_chars_max),
      url: said.url,
      description:
        said.body &&
        cut(said.body, said.color === COLOR.push ? LIMITS.embed_description_chars_max : BODY_CHARS),
      color: said.color,
      author: sender && {
        name: cut(sender.login, LIMITS.embed_author_chars_max),
        ...(sender.html_url && { url: sender.html_url }),
        ...(sender.avatar_url && { icon_url: sender.avatar_url }),
      },
    });
    return { embeds: [embed] };
  }
  return null;
}
