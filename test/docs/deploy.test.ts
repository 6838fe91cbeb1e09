// Goal: what deploy/ contains is accepted by the programs it is for, and names metrics, settings and probes that exist.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { isConfigKey } from '../../config/config.ts';
import { renderChart } from '../support/charttemplate.ts';
import { filesUnder, ROOT, read } from '../support/source.ts';

const MONITORING = join(ROOT, 'deploy/monitoring');

/** Whether a program is installed; says so when it is not. */
function has(program: string): boolean {
  const found = spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  if (!found) console.log(`Left out: ${program} is not installed.`);
  return found;
}

function runs(program: string, args: readonly string[], cwd = ROOT): void {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' });
}

describe.skipIf(!has('promtool'))('the alert rules (promtool)', () => {
  test('fire for their causes and are quiet otherwise', () =>
    runs('promtool', ['test', 'rules', 'alerts.test.yaml'], MONITORING));
  test('belong to a valid configuration', () =>
    runs('promtool', ['check', 'config', 'prometheus.yaml'], MONITORING));
});

describe.skipIf(!has('systemd-analyze'))('the systemd unit (systemd-analyze)', () => {
  test('is valid', () => runs('systemd-analyze', ['verify', 'deploy/systemd/guildhall.service']));
});

describe('alerts and dashboard', () => {
  const program = ['protocol', 'actors', 'services', 'compose', 'cli', 'transports', 'media']
    .flatMap((room) => filesUnder(room))
    .filter((path) => path.endsWith('.ts'))
    .map(read)
    .join('\n');
  const suffixless = (name: string): string => name.replace(/_(bucket|count|sum)$/, '');
  const named = (text: string): readonly string[] =>
    [...new Set(text.match(/\b(guildhall|process|nodejs)_[a-z_]+/g) ?? [])].map(suffixless);

  test.each(['deploy/monitoring/alerts.yaml', 'deploy/monitoring/grafana-dashboard.json'])(
    '%s names only metrics that exist',
    (path) => {
      const missing = named(read(path)).filter(
        (name) => !program.includes(`'${name}'`) && !program.includes(`${name}:`),
      );
      expect(missing).toEqual([]);
    },
  );

  test('docs/monitoring.md lists exactly the alerts, with their severity', () => {
    const { groups } = parse(read('deploy/monitoring/alerts.yaml')) as {
      groups: { rules: { alert: string; labels: { severity: string } }[] }[];
    };
    const rules = groups
      .flatMap((group) => group.rules)
      .map(({ alert, labels }) => `${alert} ${labels.severity}`);
    const rows = [...read('docs/monitoring.md').matchAll(/^\| (Guildhall\w+) \|.*\| (\w+) \|$/gm)];
    expect(rows.map(([, alert, severity]) => `${alert} ${severity}`).toSorted()).toEqual(rules.toSorted());
  });
});

describe('the Helm chart', () => {
  const files = filesUnder('deploy/helm');
  const text = files.map(read).join('\n');

  test('sets only settings that exist', () => {
    const settings = [...text.matchAll(/\bGUILDHALL_([A-Z_]+)\b/g)].map(([, name = '']) =>
      name.toLowerCase(),
    );
    expect(settings.length).toBeGreaterThan(5);
    expect([...new Set(settings)].filter((name) => !isConfigKey(name))).toEqual([]);
  });

  test('uses only values that values.yaml has', () => {
    const values = parse(read('deploy/helm/guildhall/values.yaml')) as Record<string, unknown>;
    const used = [...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path = '']) => path);
    const valueAt = (path: string): unknown =>
      path
        .split('.')
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], values);
    expect([...new Set(used)].filter((path) => valueAt(path) === undefined)).toEqual([]);
  });
});

type Labels = Readonly<Record<string, string>>;
interface Resource<Spec = object> {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Spec;
}
interface Container {
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value?: unknown; readonly valueFrom?: object }[];
  readonly ports: readonly { readonly name: string }[];
}
interface StatefulSet {
  readonly serviceName: string;
  readonly selector: { readonly matchLabels: Labels };
  readonly template: {
    readonly metadata: { readonly labels: Labels };
    readonly spec: { readonly containers: readonly [Container] };
  };
}
interface Service {
  readonly selector: Labels;
  readonly ports: readonly { readonly targetPort: string }[];
}

describe('the resources of the Helm chart', () => {
  const folder = 'deploy/helm/guildhall';
  const templates = new Map(filesUnder(`${folder}/templates`).map((path) => [path, read(path)]));
  const standard = parse(read(`${folder}/values.yaml`)) as object;
  const chart = parse(read(`${folder}/Chart.yaml`)) as { readonly appVersion: string };

  function resources(values: object): Resource[] {
    const given = {
      Values: { ...standard, ...values },
      Release: { Name: 'chat' },
      Chart: { AppVersion: chart.appVersion },
    };
    const texts = [...renderChart(templates, given).values()];
    return texts.flatMap((text) =>
      parseAllDocuments(text).flatMap((document) => {
        expect(document.errors, text).toEqual([]);
        const resource = document.toJS() as Resource | null;
        return resource === null ? [] : [resource];
      }),
    );
  }
  const specsOf = <Spec>(all: readonly Resource[], kind: string): readonly Spec[] =>
    all.filter((one) => one.kind === kind).map(({ spec }) => spec as Spec);
  const setOf = (values: object): StatefulSet => specsOf<StatefulSet>(resources(values), 'StatefulSet')[0]!;

  test('are a stateful set with two services, and more only where values want it', () => {
    const kinds = (values: object) =>
      resources(values)
        .map(({ kind }) => kind)
        .toSorted();
    expect(kinds({})).toEqual(['Service', 'Service', 'StatefulSet']);
    const ingress = {
      enabled: true,
      className: 'nginx',
      host: 'chat.test',
      tlsSecret: 'tls',
      annotations: { a: 'b' },
    };
    expect(kinds({ shards: 3, ingress })).toEqual([
      ...['Ingress', 'PodDisruptionBudget', 'Service', 'Service', 'StatefulSet'],
    ]);
    expect(resources({ ingress }).find(({ kind }) => kind === 'Ingress')).toMatchObject({
      metadata: { annotations: { a: 'b' } },
      spec: {
        ingressClassName: 'nginx',
        rules: [{ host: 'chat.test' }],
        tls: [{ hosts: ['chat.test'], secretName: 'tls' }],
      },
    });
  });

  test('select the pods by the labels that the pods have, and target ports that the container has', () => {
    const all = resources({ shards: 3 });
    const { selector, template, serviceName } = setOf({ shards: 3 });
    const { labels } = template.metadata;
    expect(labels).toEqual({ 'app.kubernetes.io/name': 'guildhall', 'app.kubernetes.io/instance': 'chat' });
    expect(selector.matchLabels).toEqual(labels);
    expect(specsOf(all, 'PodDisruptionBudget')).toMatchObject([{ selector: { matchLabels: labels } }]);
    const ports = template.spec.containers[0].ports.map(({ name }) => name);
    for (const service of specsOf<Service>(all, 'Service')) {
      expect(service.selector).toEqual(labels);
      for (const { targetPort } of service.ports) expect(ports).toContain(targetPort);
    }
    expect(all.map(({ metadata }) => metadata.name)).toContain(serviceName);
  });

  test('give a shard its name and links only where there are several', () => {
    const namesOf = (values: object) => setOf(values).template.spec.containers[0].env.map(({ name }) => name);
    expect(namesOf({ shards: 1 })).not.toContain('GUILDHALL_SHARD_ID');
    expect(namesOf({ shards: 2 })).toContain('GUILDHALL_LINK_ADDRESS');
    expect(namesOf({ env: { GUILDHALL_ETCD_URLS: 'http://etcd:2379' } })).toContain('GUILDHALL_ETCD_URLS');
  });

  test('write every environment variable as text, and the image of the chart by default', () => {
    const [container] = setOf({ shards: 2, env: { GUILDHALL_PARTITIONS: 64 } }).template.spec.containers;
    for (const { name, value, valueFrom } of container.env)
      expect(valueFrom === undefined ? typeof value : 'string', name).toBe('string');
    expect(container.image).toBe(`guildhall:${chart.appVersion}`);
  });
});

describe('docs/deploy.md', () => {
  test('shows settings that exist, and files that exist', () => {
    const page = read('docs/deploy.md');
    const block = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    expect(Object.keys(parse(block)).filter((key) => !isConfigKey(key))).toEqual([]);
    const named = [...page.matchAll(/`(deploy\/[^`\s]+)`/g)].map(([, path = '']) => path);
    const there = filesUnder('deploy');
    expect(named.filter((path) => !there.includes(path))).toEqual([]);
  });
});
