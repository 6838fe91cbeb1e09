import type { ChannelId } from '../../../protocol/ids.ts';
import {
  Any,
  Arr,
  Bool,
  Int,
  Nullable,
  Num,
  Obj,
  Optional,
  Snowflake,
  Str,
  Url,
} from '../../../protocol/schemas/request.ts';

/**
 * Bodies of other services, as far as they are read; all else in them is dropped. Bounds are those of the published file.
 */
const TEXT_CHARS_MAX = 152_133;
const LIST_MAX = 1_521;
const URL_CHARS_MAX = 2_048;

const Text = () => Str(0, TEXT_CHARS_MAX);
const Maybe = <T extends Parameters<typeof Nullable>[0]>(schema: T) => Optional(Nullable(schema));
const Link = () => Maybe(Url(URL_CHARS_MAX));
const Count = () => Int(0, Number.MAX_SAFE_INTEGER);

export const Reports = Obj({
  wait: Optional(Bool()),
  thread_id: Optional(Snowflake<ChannelId>()),
});

/** @source https://docs.discord.com/developers/resources/webhook#execute-slackcompatible-webhook */
export const SlackBody = Obj({
  text: Maybe(Text()),
  username: Maybe(Text()),
  icon_url: Link(),
  attachments: Maybe(
    Arr(
      Obj({
        title: Maybe(Text()),
        title_link: Link(),
        text: Maybe(Text()),
        pretext: Maybe(Text()),
        fallback: Maybe(Text()),
        color: Maybe(Str(0, 32)),
        ts: Maybe(Num(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
        footer: Maybe(Text()),
        footer_icon: Link(),
        author_name: Maybe(Text()),
        author_link: Link(),
        author_icon: Link(),
        image_url: Link(),
        thumb_url: Link(),
        fields: Maybe(
          Arr(
            Obj({
              title: Maybe(Text()),
              name: Maybe(Text()),
              value: Maybe(Text()),
              short: Maybe(Bool()),
              inline: Maybe(Bool()),
            }),
            LIST_MAX,
          ),
        ),
      }),
      LIST_MAX,
    ),
  ),
});

const User = Obj({ login: Text(), html_url: Link(), avatar_url: Link() });
const Issue = Obj({
  number: Count(),
  html_url: Link(),
  title: Text(),
  body: Maybe(Text()),
  pull_request: Optional(Any()),
  merged: Maybe(Bool()),
  draft: Maybe(Bool()),
});
const Comment = Obj({ html_url: Link(), body: Maybe(Text()), commit_id: Maybe(Text()) });
const Commit = Obj({
  id: Text(),
  url: Link(),
  message: Text(),
  author: Maybe(Obj({ name: Maybe(Text()), username: Maybe(Text()) })),
});
const Suite = Obj({
  conclusion: Maybe(Text()),
  head_branch: Maybe(Text()),
  head_sha: Maybe(Text()),
  app: Maybe(Obj({ name: Maybe(Text()) })),
});
const Run = Obj({
  name: Maybe(Text()),
  html_url: Link(),
  conclusion: Maybe(Text()),
  head_branch: Maybe(Text()),
  check_suite: Maybe(Suite),
  output: Maybe(Obj({ title: Maybe(Text()), summary: Maybe(Text()) })),
});

/** @source https://docs.discord.com/developers/resources/webhook#execute-githubcompatible-webhook */
export const GithubBody = Obj({
  action: Maybe(Text()),
  ref: Maybe(Text()),
  ref_type: Maybe(Text()),
  master_branch: Maybe(Text()),
  deleted: Maybe(Bool()),
  forced: Maybe(Bool()),
  compare: Link(),
  commits: Maybe(Arr(Commit, LIST_MAX)),
  sender: User,
  repository: Maybe(Obj({ full_name: Text(), html_url: Link() })),
  issue: Maybe(Issue),
  pull_request: Maybe(Issue),
  comment: Maybe(Comment),
  review: Maybe(Obj({ html_url: Link(), body: Maybe(Text()), state: Maybe(Text()) })),
  release: Maybe(Obj({ tag_name: Text(), name: Maybe(Text()), html_url: Link(), body: Maybe(Text()) })),
  forkee: Maybe(Obj({ full_name: Text(), html_url: Link() })),
  member: Maybe(User),
  discussion: Maybe(Issue),
  answer: Maybe(Comment),
  check_run: Maybe(Run),
  check_suite: Maybe(Suite),
  workflow_run: Maybe(Run),
  starred_at: Maybe(Text()),
});
