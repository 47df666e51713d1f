// Spring bones of three-vrm on the rig that our own bench uses: node three_vrm.mjs AVATARS CHAINS JOINTS CAPSULES FRAMES
// Prints {"version", "ms_p50", "ms_p95", "cpu_ms_p50"} of one update(1/60) of all avatars; posing them is not counted.
import * as THREE from 'three';
import { readFileSync } from 'node:fs';
import {
  VRMSpringBoneCollider, VRMSpringBoneColliderShapeCapsule, VRMSpringBoneJoint, VRMSpringBoneManager,
} from '@pixiv/three-vrm';

const [avatars, chains, joints, capsules, frames] = process.argv.slice(2).map(Number);
const CAPSULES = [
  ['head', [0, 0.09, 0], [0, 0.1, 0], 0.095], ['neck', [0, -0.02, 0], [0, 0.07, 0], 0.045],
  ['chest', [-0.06, 0.1, 0], [0.06, 0.1, 0], 0.1], ['chest', [0.07, 0.19, 0], [0.19, 0.17, 0], 0.055],
  ['chest', [-0.07, 0.19, 0], [-0.19, 0.17, 0], 0.055], ['chest', [0, -0.1, 0], [0, 0.05, 0], 0.105],
  ['chest', [0.19, 0.17, 0], [0.3, -0.05, 0.02], 0.045], ['chest', [-0.19, 0.17, 0], [-0.3, -0.05, 0.02], 0.045],
];
const node = (parent, place) => { const o = new THREE.Object3D(); o.position.set(...place); parent.add(o); return o; };

function build(index) {
  const root = new THREE.Object3D();
  root.position.set(index % 32, 0, Math.floor(index / 32));
  const at = {};
  at.hips = node(root, [0, 0.95, 0]); at.chest = node(at.hips, [0, 0.25, 0]);
  at.neck = node(at.chest, [0, 0.22, 0]); at.head = node(at.neck, [0, 0.09, 0.01]);
  const colliders = [];
  for (let k = 0; k < capsules; k++) {
    const [where, a, b, radius] = CAPSULES[k % 8], up = 0.004 * Math.floor(k / 8);
    const shape = new VRMSpringBoneColliderShapeCapsule({
      offset: new THREE.Vector3(a[0], a[1] + up, a[2]), tail: new THREE.Vector3(b[0], b[1] + up, b[2]), radius });
    const collider = new VRMSpringBoneCollider(shape);
    at[where].add(collider); colliders.push(collider);
  }
  const strands = [];
  for (let c = 0; c < chains; c++) {
    const yaw = 2 * Math.PI * (c + 0.5) / chains, pitch = 1.15, bend = pitch / Math.min(4, joints);
    const line = [node(at.head, [0.1 * Math.sin(yaw), 0.12, 0.1 * Math.cos(yaw)])];
    line[0].quaternion.setFromEuler(new THREE.Euler(-pitch, yaw, 0, 'YXZ'));
    for (let j = 1; j <= joints; j++) {
      const o = node(line[j - 1], [0, -0.05, 0]);
      o.quaternion.setFromAxisAngle(new THREE.Vector3(1, 0, 0), j <= 4 ? bend : 0.03);
      line.push(o);
    }
    strands.push(line);
  }
  root.updateWorldMatrix(false, true); // joints switch their nodes' own updates off
  const manager = new VRMSpringBoneManager();
  const groups = colliders.length ? [{ colliders, name: 'body' }] : [];
  for (const line of strands) for (let j = 0; j < joints; j++) {
    manager.addJoint(new VRMSpringBoneJoint(line[j], line[j + 1], {
      stiffness: 1, dragForce: 0.4, gravityPower: 0.2, gravityDir: new THREE.Vector3(0, -1, 0), hitRadius: 0.012 }, groups));
  }
  root.updateWorldMatrix(false, true);
  manager.setInitState();
  return { root, head: at.head, manager, phase: 0.37 * index };
}

const crowd = Array.from({ length: avatars }, (_, i) => build(i));
const wall = [], cpu = [];
for (let f = -30; f < frames; f++) {
  for (const one of crowd) {
    const t = Math.PI * (f / 60 + one.phase);
    one.head.quaternion.setFromEuler(new THREE.Euler(0.15 * Math.sin(2 * t), Math.PI / 3 * Math.sin(t), 0, 'YXZ'));
    one.root.updateWorldMatrix(false, false);
  }
  const start = process.hrtime.bigint(), used = process.cpuUsage();
  for (const one of crowd) one.manager.update(1 / 60);
  const spent = process.cpuUsage(used);
  if (f >= 0) { wall.push(Number(process.hrtime.bigint() - start) / 1e6); cpu.push((spent.user + spent.system) / 1e3); }
}
const at = (values, share) => values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))];
const { version } = JSON.parse(readFileSync(new URL('./node_modules/@pixiv/three-vrm/package.json', import.meta.url)));
console.log(JSON.stringify({ version, ms_p50: at(wall, 0.5), ms_p95: at(wall, 0.95), cpu_ms_p50: at(cpu, 0.5) }));
