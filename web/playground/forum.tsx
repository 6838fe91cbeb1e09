import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../protocol/thrown.ts';
import type { ChannelView, GuildView } from '../../sdk/index.ts';
import { isJson } from '../../sdk/voice/wire.ts';
import { callApi, jsonBody } from '../api.ts';
import { threadsOf } from './place.ts';

interface ForumProps {
  readonly guild: GuildView;
  readonly channel: ChannelView;
  readonly token: string;
  readonly open: (channelId: string) => void;
}

interface Post {
  readonly id: string;
  readonly name: string;
}

/** The posts of a forum, open ones first, and a form for a new one. */
export function Forum({ guild, channel, token, open }: ForumProps) {
  const [archived, setArchived] = useState<readonly Post[]>([]);
  const [complaint, setComplaint] = useState<string | null>(null);
  useEffect(() => {
    callApi(token, `/channels/${channel.id}/threads/archived/public?limit=50`).then(
      (body) => setArchived(postsIn(body)),
      (error: unknown) => setComplaint(messageOf(error)),
    );
  }, [token, channel.id]);
  const submit = async (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const tag = String(data.get('tag') ?? '');
    const body = {
      name: String(data.get('name') ?? ''),
      message: { content: String(data.get('content') ?? '') },
      ...(tag !== '' && { applied_tags: [tag] }),
    };
    try {
      const made = await callApi(token, `/channels/${channel.id}/threads`, jsonBody('POST', body));
      form.reset();
      if (isJson(made)) open(String(made.id));
    } catch (error) {
      setComplaint(messageOf(error));
    }
  };
  const posts = [...threadsOf(guild, channel.id), ...archived];
  return (
    <section class="forum" aria-label={channel.name}>
      <div class="channelhead">
        <h2>{channel.name}</h2>
        <p class="dim small topic">{channel.topic}</p>
      </div>
      {complaint !== null && (
        <p class="notice bad" role="alert">
          {complaint}
        </p>
      )}
      <ul class="posts" aria-label="Posts">
        {posts.map(({ id, name }) => (
          <li key={id}>
            <button type="button" class="channel" onClick={() => open(id)}>
              <span class="name">{name}</span>
              <span class="dim small">{guild.channels.get(id)?.messageCount ?? 0} answers</span>
            </button>
          </li>
        ))}
      </ul>
      <NewPost tags={channel.tags} submit={(event) => void submit(event)} />
    </section>
  );
}

interface NewPostProps {
  readonly tags: ChannelView['tags'];
  readonly submit: (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }) => void;
}

function NewPost({ tags, submit }: NewPostProps) {
  return (
    <form class="card form" onSubmit={submit}>
      <h3>New post</h3>
      <label for="post-name">Title</label>
      <input id="post-name" name="name" required maxlength={100} />
      <label for="post-content">Text</label>
      <textarea id="post-content" name="content" required maxlength={2000} />
      {tags.length > 0 && (
        <select name="tag" aria-label="Tag">
          <option value="">No tag</option>
          {tags.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      <button type="submit" class="primary">
        Post
      </button>
    </form>
  );
}

function postsIn(body: unknown): readonly Post[] {
  if (!isJson(body) || !Array.isArray(body.threads)) return [];
  return body.threads.filter(isJson).map((one) => ({ id: String(one.id), name: String(one.name) }));
}
