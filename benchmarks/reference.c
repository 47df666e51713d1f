/* The arc law with whole-segment capsule contact in plain C: what a compiler makes of the same maths, as a limit.

   cc -O3 -march=native -ffast-math -DW=8 reference.c -lm -lpthread -o reference     (W lanes: chains side by side; 1 is scalar)
   ./reference AVATARS CHAINS JOINTS CAPSULES THREADS TICKS                          prints wall and CPU ns per joint and tick of each frame

   Branch-free: every segment meets every capsule, once per tick. Chains are padded to whole packs. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef W
#define W 8
#endif
#define MAXJ 32

typedef struct { float a[3], e[3], inv_ee, radius, velocity[3]; } capsule;
static int avatars, chains, joints, capsules, packs, threads, ticks;
static float *state, *rest;
static capsule *shapes;
static const float h = 1.0f / 120.0f, pull = 400.0f, keep = 0.905f, hair = 0.012f;

static void pack_tick(float *x, float *v, const float *r, const capsule *caps, const float *q, const float *shift)
{
    float joint[3][W], joint_before[3][W];
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < W; l++) { joint[k][l] = 0.0f; joint_before[k][l] = -shift[k]; }
    for (int j = 0; j < joints; j++) {
        float p[3][W], vel[3][W], old[3][W];
        for (int l = 0; l < W; l++) {
            float rx = r[(4 * j) * W + l], ry = r[(4 * j + 1) * W + l], rz = r[(4 * j + 2) * W + l], len = r[(4 * j + 3) * W + l];
            float tx = 2 * (q[1] * rz - q[2] * ry), ty = 2 * (q[2] * rx - q[0] * rz), tz = 2 * (q[0] * ry - q[1] * rx);
            float d[3] = {rx + q[3] * tx + q[1] * tz - q[2] * ty, ry + q[3] * ty + q[2] * tx - q[0] * tz, rz + q[3] * tz + q[0] * ty - q[1] * tx};
            float y[3], n = 0.0f;
            for (int k = 0; k < 3; k++) {
                float at = x[(3 * j + k) * W + l] - shift[k];
                float f = pull * (joint_before[k][l] + d[k] - at) + (k == 1 ? -9.81f : 0.0f);
                old[k][l] = at;
                y[k] = at + h * keep * (v[(3 * j + k) * W + l] + h * f) - joint[k][l];
                n += y[k] * y[k];
            }
            float s = len / sqrtf(n + 1e-20f);
            for (int k = 0; k < 3; k++) { p[k][l] = joint[k][l] + y[k] * s; vel[k][l] = (p[k][l] - old[k][l]) / h; }
        }
        for (int b = 0; b < capsules; b++) {
            const capsule c = caps[b];
            for (int l = 0; l < W; l++) {
                float len = r[(4 * j + 3) * W + l];
                float d[3], w[3], dd = 0, de = 0, dw = 0, ew = 0, ee = 1.0f / c.inv_ee;
                for (int k = 0; k < 3; k++) {
                    d[k] = p[k][l] - joint[k][l]; w[k] = joint[k][l] - c.a[k];
                    dd += d[k] * d[k]; de += d[k] * c.e[k]; dw += d[k] * w[k]; ew += c.e[k] * w[k];
                }
                float det = fmaxf(dd * ee - de * de, 1e-12f);
                float u = fminf(fmaxf((de * ew - dw * ee) / det, 0.0f), 1.0f);
                float t = fminf(fmaxf((de * u + ew) * c.inv_ee, 0.0f), 1.0f);
                u = fminf(fmaxf((de * t - dw) / dd, 0.0f), 1.0f);
                float g[3], m = 0;
                for (int k = 0; k < 3; k++) { g[k] = w[k] + d[k] * u - c.e[k] * t; m += g[k] * g[k]; }
                m = sqrtf(m + 1e-20f);
                float deep = fmaxf(c.radius + hair - m, 0.0f), into = 0, s = deep / (fmaxf(u, 0.25f) * m), n = 0;
                for (int k = 0; k < 3; k++) { d[k] += g[k] * s; n += d[k] * d[k]; }
                s = len / sqrtf(n + 1e-20f);
                for (int k = 0; k < 3; k++) { p[k][l] = joint[k][l] + d[k] * s; into += (vel[k][l] - c.velocity[k]) * g[k]; }
                into = deep > 0.0f ? fminf(into, 0.0f) / (m * m) : 0.0f;
                for (int k = 0; k < 3; k++) vel[k][l] -= into * g[k];
            }
        }
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < W; l++) {
                joint_before[k][l] = old[k][l]; joint[k][l] = p[k][l];
                x[(3 * j + k) * W + l] = p[k][l]; v[(3 * j + k) * W + l] = vel[k][l];
            }
    }
}

static int now_tick;
static void *frame(void *arg)
{
    long t = (long)arg;
    for (int a = (int)((long)avatars * t / threads); a < (int)((long)avatars * (t + 1) / threads); a++)
        for (int p = 0; p < packs; p++)
            for (int k = 0; k < 2; k++) {
                float angle = 0.5f * sinf(0.026f * (now_tick + k) + 0.1f * a), q[4] = {0, sinf(0.5f * angle), 0, cosf(0.5f * angle)};
                float shift[3] = {0.001f * angle, 0, 0};
                float *x = state + ((size_t)a * packs + p) * 6 * joints * W;
                pack_tick(x, x + 3 * joints * W, rest + (size_t)p * 4 * joints * W, shapes, q, shift);
            }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 7) return 2;
    avatars = atoi(argv[1]); chains = atoi(argv[2]); joints = atoi(argv[3]);
    capsules = atoi(argv[4]); threads = atoi(argv[5]); ticks = atoi(argv[6]);
    if (joints > MAXJ || threads < 1 || avatars < 1) return 2;
    packs = (chains + W - 1) / W;
    state = calloc((size_t)avatars * packs * 6 * joints * W, sizeof(float));
    rest = calloc((size_t)packs * 4 * joints * W, sizeof(float));
    shapes = calloc(capsules + 1, sizeof(capsule));
    for (int p = 0; p < packs; p++)
        for (int j = 0; j < joints; j++)
            for (int l = 0; l < W; l++) {
                float yaw = 6.2831853f * (p * W + l) / (packs * W), down = 0.3f + 0.12f * j;
                rest[(p * 4 * joints + 4 * j) * W + l] = 0.05f * sinf(yaw) * cosf(down);
                rest[(p * 4 * joints + 4 * j + 1) * W + l] = -0.05f * sinf(down);
                rest[(p * 4 * joints + 4 * j + 2) * W + l] = 0.05f * cosf(yaw) * cosf(down);
                rest[(p * 4 * joints + 4 * j + 3) * W + l] = 0.05f;
            }
    for (int a = 0; a < avatars; a++)
        for (int p = 0; p < packs; p++)
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < W; l++) {
                    float at = 0;
                    for (int j = 0; j < joints; j++)
                        state[((size_t)a * packs + p) * 6 * joints * W + (3 * j + k) * W + l] = at += rest[(p * 4 * joints + 4 * j + k) * W + l];
                }
    for (int b = 0; b < capsules; b++) {
        capsule *c = shapes + b;
        c->a[0] = 0.05f * (b % 3 - 1); c->a[1] = -0.1f - 0.04f * b; c->a[2] = 0.02f * (b % 2);
        c->e[0] = 0.1f; c->e[1] = 0.02f; c->e[2] = 0.01f;
        c->inv_ee = 1.0f / (c->e[0] * c->e[0] + c->e[1] * c->e[1] + c->e[2] * c->e[2]);
        c->radius = 0.06f;
    }
    pthread_t id[64];
    for (now_tick = 0; now_tick < ticks; now_tick += 2) {
        struct timespec s, e, cs, ce;
        clock_gettime(CLOCK_MONOTONIC, &s);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cs);
        for (long t = 1; t < threads && t < 64; t++) pthread_create(&id[t], NULL, frame, (void *)t);
        frame((void *)0);
        for (long t = 1; t < threads && t < 64; t++) pthread_join(id[t], NULL);
        clock_gettime(CLOCK_MONOTONIC, &e);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ce);
        double work = (double)avatars * chains * joints * 2;
        double wall = (e.tv_sec - s.tv_sec) * 1e9 + (e.tv_nsec - s.tv_nsec);
        double cpu = (ce.tv_sec - cs.tv_sec) * 1e9 + (ce.tv_nsec - cs.tv_nsec);
        printf("%.2f %.2f\n", wall / work, cpu / work);
    }
    double sum = 0;
    for (size_t i = 0; i < (size_t)avatars * packs * 6 * joints * W; i++) sum += state[i];
    fprintf(stderr, "checksum %.6f\n", sum);
    return 0;
}
