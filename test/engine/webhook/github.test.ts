/** Goal: the events that people follow on GitHub become one embed each, and everything else stays silent. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildEmbeds } from '../../../engine/channel/embeds.ts';
import { type GithubBody, githubReport } from '../../../engine/webhook/github.ts';

const sender = {
  login: 'octo',
  html_url: 'https://github.com/octo',
  avatar_url: 'https://github.com/octo.png',
};
const repository = { full_name: 'octo/reef', html_url: 'https://github.com/octo/reef' };
const pull = {
  number: 5,
  title: 'Add coral',
  html_url: 'https://github.com/octo/reef/pull/5',
  body: 'More of it.',
};
const issue = {
  number: 4,
  title: 'Too little coral',
  html_url: 'https://github.com/octo/reef/issues/4',
  body: 'See.',
};
const comment = {
  html_url: 'https://github.com/octo/reef/issues/4#c1',
  body: 'Indeed.',
  commit_id: 'abcdef0123',
};
const commit = (index: number) => ({
  id: `${index}abcdef0123456789`,
  url: `https://github.com/octo/reef/commit/${index}`,
  message: `Plant *coral* ${index}\n\nAt length.`,
  author: { name: 'Octo Pus', username: 'octo' },
});
const read = (body: GithubBody) => githubReport({ sender, repository, ...body })?.embeds[0];

describe('a GitHub body', () => {
  it('lists five commits of a push, with their subjects as they are written', () => {
    const embed = read({
      ref: 'refs/heads/main',
      compare: 'https://github.com/octo/reef/compare/1...7',
      commits: Array.from({ length: 7 }, (_, index) => commit(index)),
    });
    expect(embed).toMatchObject({
      title: '[octo/reef:main] 7 new commits',
      url: 'https://github.com/octo/reef/compare/1...7',
      author: { name: 'octo', url: sender.html_url, icon_url: sender.avatar_url },
    });
    const lines = embed?.description?.split('\n') ?? [];
    expect(lines[0]).toBe('[`0abcdef`](https://github.com/octo/reef/commit/0) Plant \\*coral\\* 0 - octo');
    expect(lines[5]).toBe('… and 2 more');
  });

  it.each<[string, GithubBody, string]>([
    ['one commit', { ref: 'refs/heads/main', commits: [commit(1)] }, '[octo/reef:main] 1 new commit'],
    [
      'a forced push',
      { ref: 'refs/heads/main', forced: true, commits: [commit(1)] },
      '[octo/reef:main] Force-pushed 1 new commit',
    ],
    [
      'a new branch',
      { ref: 'reef', ref_type: 'branch', master_branch: 'main' },
      '[octo/reef] New branch created: reef',
    ],
    ['a deleted tag', { ref: 'v1', ref_type: 'tag' }, '[octo/reef] Deleted tag: v1'],
    [
      'an opened pull request',
      { action: 'opened', pull_request: pull },
      '[octo/reef] Pull request opened: #5 Add coral',
    ],
    [
      'a merged pull request',
      { action: 'closed', pull_request: { ...pull, merged: true } },
      '[octo/reef] Pull request merged: #5 Add coral',
    ],
    [
      'a closed pull request',
      { action: 'closed', pull_request: pull },
      '[octo/reef] Pull request closed: #5 Add coral',
    ],
    [
      'a review',
      { action: 'submitted', pull_request: pull, review: { state: 'changes_requested', body: 'No.' } },
      '[octo/reef] Pull request review changes requested: #5 Add coral',
    ],
    [
      'a review comment',
      { action: 'created', pull_request: pull, comment },
      '[octo/reef] New review comment on pull request #5: Add coral',
    ],
    ['an issue', { action: 'opened', issue }, '[octo/reef] Issue opened: #4 Too little coral'],
    [
      'a comment on an issue',
      { action: 'created', issue, comment },
      '[octo/reef] New comment on issue #4: Too little coral',
    ],
    [
      'a comment on a pull request',
      { action: 'created', issue: { ...issue, pull_request: {} }, comment },
      '[octo/reef] New comment on pull request #4: Too little coral',
    ],
    ['a comment on a commit', { action: 'created', comment }, '[octo/reef] New comment on commit `abcdef0`'],
    [
      'a release',
      { action: 'published', release: { tag_name: 'v1', html_url: 'https://github.com/r' } },
      '[octo/reef] New release published: v1',
    ],
    ['a watch', { action: 'started' }, '[octo/reef] New star added'],
    ['a star', { action: 'created', starred_at: '2026-01-01T00:00:00Z' }, '[octo/reef] New star added'],
    ['a fork', { forkee: { full_name: 'squid/reef' } }, '[octo/reef] Fork created: squid/reef'],
    [
      'a member',
      { action: 'added', member: { login: 'squid' } },
      '[octo/reef] New collaborator added: squid',
    ],
    [
      'a discussion',
      { action: 'created', discussion: { ...issue, title: 'Why coral?' } },
      '[octo/reef] Discussion created: #4 Why coral?',
    ],
    [
      'an answer',
      { action: 'answered', discussion: { ...issue, title: 'Why coral?' }, answer: comment },
      '[octo/reef] Discussion answered: #4 Why coral?',
    ],
    [
      'a check run',
      {
        action: 'completed',
        check_run: { name: 'lint', conclusion: 'failure', check_suite: { head_branch: 'main' } },
      },
      '[octo/reef] Lint failure on main',
    ],
    [
      'a workflow run',
      { action: 'completed', workflow_run: { name: 'CI', conclusion: 'timed_out', head_branch: 'main' } },
      '[octo/reef] CI timed out on main',
    ],
    [
      'a check suite',
      {
        action: 'completed',
        check_suite: { conclusion: 'success', head_branch: 'main', app: { name: 'Actions' } },
      },
      '[octo/reef] Actions success on main',
    ],
  ])('becomes a message for %s', (_, body, title) => {
    expect(read(body)?.title).toBe(title);
  });

  it.each<[string, GithubBody]>([
    ['a ping', {}],
    ['a label', { action: 'labeled', issue }],
    ['a starred repository that loses its star', { action: 'deleted', starred_at: null }],
    ['an action that is a property of every object', { action: 'constructor', issue }],
    ['an edited comment', { action: 'edited', issue, comment }],
    ['a draft of a release', { action: 'created', release: { tag_name: 'v1' } }],
    ['a run that has begun', { action: 'requested', workflow_run: { name: 'CI' } }],
    ['a push without commits', { ref: 'refs/heads/main', commits: [] }],
    ['a deleted branch', { ref: 'refs/heads/old', deleted: true, commits: [] }],
  ])('says nothing of %s', (_, body) => {
    expect(githubReport({ sender, repository, ...body })).toBeNull();
  });

  it('always makes an embed that a message may hold', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6_000 });
    const one = fc.record({ number: fc.nat(), title: text, body: text });
    fc.assert(
      fc.property(text, one, fc.array(fc.record({ id: text, message: text })), (name, item, commits) => {
        const bodies: GithubBody[] = [
          { action: 'opened', issue: item },
          { action: 'opened', pull_request: item },
          { ref: name, commits },
          { action: 'published', release: { tag_name: name, body: item.body } },
        ];
        for (const body of bodies) {
          const report = githubReport({ ...body, sender: { login: name }, repository: { full_name: name } });
          expect(buildEmbeds(report?.embeds ?? [], []).ok).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });
});
