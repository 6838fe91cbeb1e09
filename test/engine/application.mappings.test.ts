// Goal: a path of an activity leads to the target of its longest prefix and never out of that target's directory.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isEmbedded, mappedTargets, mappingsRefusal } from '../../engine/application/mappings.ts';
import { leavesOf } from '../support/errortree.ts';

const ROOT = { prefix: '/', target: 'example.com' };
const wrong = (...mappings: { prefix: string; target: string }[]): string[] => {
  const refusal = mappingsRefusal(mappings);
  return refusal ? leavesOf(refusal.errors ?? {}) : [];
};

describe('mappings', () => {
  test.each([
    ['/', 'example.com'],
    ['/', 'localhost:3000/app'],
    ['/api', 'api.example.com/v1/'],
    ['/rooms/{room}', '{room}.example.com'],
    ['/files/{a}/{b}', 'example.com/{b}/{a}'],
    ['/v6', '[::1]:8080'],
    [`/${'a'.repeat(255)}`, 'example.com'],
  ])('take %s to %s', (prefix, target) => {
    expect(wrong(...(prefix === '/' ? [] : [ROOT]), { prefix, target })).toEqual([]);
  });

  test.each([
    ['api', 'example.com', 'prefix'],
    ['/a//b', 'example.com', 'prefix'],
    ['/../a', 'example.com', 'prefix'],
    ['/.proxy', 'example.com', 'prefix'],
    ['/{a}/{a}', 'example.com', 'prefix'],
    ['/{a', 'example.com', 'prefix'],
    ['/a?b', 'example.com', 'prefix'],
    [`/${'a'.repeat(256)}`, 'example.com', 'prefix'],
    ['/a', 'https://example.com', 'target'],
    ['/a', 'user@example.com', 'target'],
    ['/a', 'example.com:0', 'target'],
    ['/a', 'example.com:65536', 'target'],
    ['/a', 'example.com/../b', 'target'],
    ['/a', '{b}.example.com', 'target'],
    ['/a', 'exa mple.com', 'target'],
    ['/a', '', 'target'],
  ])('refuse %s to %s', (prefix, target, field) => {
    expect(wrong(ROOT, { prefix, target }).join()).toContain(`url_mappings.1.${field}`);
  });

  test('need a root, no prefix twice, and are at most a hundred', () => {
    expect(wrong()).toEqual([]);
    expect(wrong({ prefix: '/a', target: 'example.com' }).join()).toContain('ROOT_REQUIRED');
    const twice = [ROOT, { prefix: '/{a}', target: 'a.com' }, { prefix: '/{b}', target: 'b.com' }];
    expect(wrong(...twice).join()).toContain('PREFIX_TAKEN');
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ prefix: n === 0 ? '/' : `/a${n}`, target: 'a.com' }));
    expect(wrong(...many(100))).toEqual([]);
    expect(wrong(...many(101)).join()).toContain('BASE_TYPE_MAX_LENGTH');
    expect(isEmbedded({ activity: { urlMappings: [ROOT] } })).toBe(true);
    expect(isEmbedded({})).toBe(false);
  });
});

describe('a path', () => {
  const mappings = [
    { prefix: '/', target: 'root.test/app' },
    { prefix: '/api', target: 'api.test/' },
    { prefix: '/api/{room}', target: '{room}.rooms.test:9/in/{room}' },
    { prefix: '/api/lobby', target: 'lobby.test' },
  ];
  test.each([
    ['/', 'root.test', '/app/'],
    ['/index.html', 'root.test', '/app/index.html'],
    ['/apiary', 'root.test', '/app/apiary'],
    ['/api', 'api.test', '/'],
    ['/api/', 'api.test', '/'],
    ['/api/red', 'red.rooms.test:9', '/in/red'],
    ['/api/red/x%2Fy', 'red.rooms.test:9', '/in/red/x%2Fy'],
    ['/api/lobby/', 'lobby.test', '/'],
    ['/api//x', 'api.test', '//x'],
  ])('%s leads to %s%s', (path, host, to) => {
    expect(mappedTargets(mappings)(path)).toEqual({ host, path: to });
  });

  test.each(['/api/evil.com%2F', '/api/a.b/x', '/api/../x', '/a/%2e%2E/x', '/a\\..\\b', '/api/-/', '/./x'])(
    '%s leads nowhere',
    (path) => {
      expect(mappedTargets(mappings)(path)).toBeNull();
    },
  );

  test('never leaves the directory of its target, as a URL parser reads it', () => {
    const piece = fc.oneof(
      fc.constantFrom('..', '.', '%2e', '%2E%2e', '\\', 'api', '@', ':', '?', '#'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const path = `/${pieces.map((one) => one.replace(/[?#]/g, '')).join('/')}`;
        const target = mappedTargets([{ prefix: '/', target: 'root.test/app' }])(path);
        if (target === null) return;
        expect(target.host).toBe('root.test');
        const url = new URL(`https://${target.host}${target.path}`);
        expect(url.host).toBe('root.test');
        expect(`${url.pathname}/`.startsWith('/app/')).toBe(true);
      }),
    );
  });
});
