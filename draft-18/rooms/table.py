"""The rooms: what moves where, what each is for, and where to change what. Everything else is derived from the tree.

A parent is a folder that becomes rooms. Its rooms are listed lowest floor first, so that they can be taken out one by one.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Room:
    folder: str       # below the parent
    library: str      # kiln_<library>, kiln::<library>
    stems: tuple      # of the files that move here: "a/b" lies in the parent's folder a
    subject: str      # of the commit
    purpose: str      # first paragraph of its README
    changes: tuple    # (to, change)
    mlir: bool = False
    extra: tuple = ()        # lines behind the library in its CMakeLists.txt
    own: dict = dataclasses.field(default_factory=dict)  # further libraries of the room: name -> (stems, comment, mlir)
    tests: tuple = ()        # stems below the parent's tests that move along


@dataclasses.dataclass(frozen=True)
class Parent:
    folder: str
    library: str      # today's, for the files that stay; "" for none
    tests: str        # folder of the mirrored tests
    test_room: str    # where the rooms of the tests begin
    short: tuple      # (where, prefix): documents and comments there name files as prefix + name
    rooms: tuple
    stay: tuple = ()  # stems that stay in the parent
    top: str = ""     # the library that stands for the old one where it goes away
    mlir: bool = False


SERVICE = Parent(
    folder="coordinator/service", library="service", tests="tests/coordinator/service", test_room="tests/coordinator",
    short=(("coordinator/", "service/"), ("tests/coordinator/", "service/")), top="rpc",
    rooms=(
        Room("farm", "farm", ("advisory_lock", "blob_io", "digest_cache", "farm", "log", "memory", "metrics", "turn"), "Give what all parts of the coordinator share a room",
             "What every part of the coordinator works with: the references of a farm (`farm.h`), counters, log lines, the cache of what was "
             "verified, the advisory lock, reading and writing blobs.",
             (("a counter", "`metrics.h`"), ("a point where fault tests kill the program", "the constants in `farm.h`"),
              ("what all services are given", "`farm.h`; `coordinator/server/coordinator.cc` fills it")),
             tests=("farm_fixture",)),
        Room("signatures", "signatures", ("log_growth", "log_intake", "logged_signer", "statement_reader"),
             "Give signing by way of the log a room",
             "How what the farm signs comes into its log and into the index: the signer that waits for a checkpoint, signatures of others, and from a "
             "bundle to the rows by which its statement is found.",
             (("when a bundle is released", "`logged_signer.cc`"), ("which rows a statement gets", "`statement_reader.cc`"))),
        Room("view", "farm_view", ("audit_view", "device_view", "job_logs", "job_view", "page_token"), "Give the rows as the wire shows them a room",
             "Between rows of the index and messages of `kiln.v1`: jobs, artifacts, audit rows, devices, and page tokens. Nothing here asks the database.",
             (("a field of a job or an artifact on the wire", "`job_view.cc`"), ("what a worker may say of its devices", "`device_view.cc`"),
              ("where a list goes on", "`page_token.cc`")), tests=("job_logs_test",)),
        Room("recall", "farm_recall", ("logged_recalls", "recall_logger", "recalls"), "Give the recalls in force a room",
             "The recalls that are in force: taken in, put into the log, held against the log again.",
             (("which recalls come into force", "`recalls.cc`"), ("what the log says of them", "`logged_recalls.cc`, `recall_logger.cc`"))),
        Room("policy", "farm_policy", ("attestations", "instance_policies", "promoter"), "Give the policies of instances a room",
             "What an instance's policy asks of its artifacts, statements of third parties, and the verdict that is signed.",
             (("when an artifact is judged again", "`promoter.cc`"), ("which statements of others are kept", "`attestations.cc`")),
             tests=("attestation_test", "promoter_test")),
        Room("planning", "planning", ("admitted_toolchain", "planner", "proof"), "Give planning and the proofs of the cache a room",
             "From a submission to actions, and what need not run again because it is proven. No row is believed here.",
             (("what makes a hit", "`proof.cc`"), ("which tree a toolchain's label means", "`admitted_toolchain.cc`"), ("which actions a job has", "`planner.cc`")),
             tests=("proof_test", "proven_result_test")),
        Room("tuning", "farm_tuning", ("action_input", "tuner", "tuning_documents", "tuning_traces"), "Give tuning a room",
             "Which kernels are measured, what of a measurement is kept, what a compile gets of it ([TUNING.md](../TUNING.md)).",
             (("what of a measurement counts", "`tuner.cc`; the rule itself is `manifest/tuning/choose.cc`"),
              ("how a compile is found by its tuning record", "`tuning_traces.cc`")),
             tests=("tuning_test",)),
        Room("drivers", "drivers", ("check_report", "checker", "completion", "job_driver", "job_steps", "publisher", "reproducer", "sandbox_rule", "submitter"),
             "Give the drivers of jobs a room",
             "What carries a job from its submission to its end. The decisions are in `coordinator/jobs`, which is pure; here they meet database, store and signer.",
             (("what a job does next", "`coordinator/jobs/next_step.cc`; then `job_steps.cc` or `job_driver.cc` to carry it out"),
              ("what is refused at submission, with I/O", "`submitter.cc`"), ("what a worker's report must hold", "`completion.cc`, `check_report.cc`"),
              ("what is published", "`publisher.cc`")),
             tests=("completion_test", "hostile_worker_test", "job_flow_test", "receipt_test", "refusal_test", "sandbox_rule_test")),
        Room("garbage", "garbage", ("garbage", "reachable", "tombstoner"), "Give the collection of garbage a room",
             "What is removed from the store ([GARBAGE.md](../GARBAGE.md)), and tombstones.",
             (("what is kept", "`reachable.cc`"), ("when it runs", "`garbage.cc`")), tests=("garbage_test",)),
        Room("audit", "farm_audit", ("affected", "comparison", "logged_view"), "Give the answers to auditors a room",
             "Answers for auditors: what something has touched, what changed between two artifacts, what the farm keeps of its log's entries.",
             (("what an auditor can ask for", "`affected.cc`; the rows are `storage/index/audit`"),), tests=("audit_test",)),
        Room("rpc", "rpc", ("artifact_service", "attestation_service", "audit_service", "job_service", "maintenance_service", "place",
                            "recall_service", "rpc", "toolchain_service", "worker_address", "worker_service"), "Give the gRPC services a room",
             "The services of `kiln.v1`: each checks its request's form, calls one of the rooms below, and turns the result into a message.",
             (("an RPC", "its service here, its row in `access/rpc_table.cc`, an override in `server/guarded_services.cc`"),
              ("how an error becomes a status", "`rpc.cc`")),
             tests=("device_test", "identity_test", "old_farm_test", "toolchain_test", "worker_service_test")),
    ))

VERSION = 'target_compile_definitions(kiln_{0} PRIVATE KILN_VERSION="${{PROJECT_VERSION}}")'

CLI = Parent(
    folder="api/cli", library="cli", tests="tests/api/cli", test_room="tests/api/cli", stay=("command_line", "commands", "main"),
    short=(("api/", "cli/"), ("tests/api/", "cli/")),
    rooms=(
        Room("base", "cli_base", ("context", "duration_option", "exit_code", "file_lock", "limits", "one_writer", "print", "progress", "run_program", "source_name", "text_table", "trust_settings"),
             "Give what all commands share a room",
             "What every command works with: the options that all have, printing, exit codes, progress, other programs of the installation.",
             (("an option of every command", "`context.cc`"), ("what `--json` prints of an error", "`print.cc`"),
              ("an exit code", "`manifest/base/exit_code.h`, then `exit_code.cc`")),
             tests=("errors_test", "exit_code_test", "lost_output_test", "print_test", "text_table_test", "usage_test")),
        Room("view", "cli_view", ("device_view", "job_view", "json_text", "kernel_view", "partition_view", "provenance_text", "session_view", "stage_view",
                                  "tuning_view", "worker_view"), "Give what commands show a room",
             "Documents and messages as people read them. Nothing here asks a farm.",
             (("how a job is printed", "`job_view.cc`"), ("what `kiln show --stages` prints", "`stage_view.cc`")),
             tests=("device_view_test", "partition_view_test", "provenance_text_test", "stage_view_test", "tuning_view_test", "worker_view_test")),
        Room("build", "cli_build", ("build", "build_options", "cancel", "check_files", "inspect", "interrupt", "job_outputs", "jobs", "logs", "model_source",
                                    "rebuild", "rebuild_offline", "watch"), "Give the commands about jobs a room",
             "Commands about jobs: inspect, build, rebuild, watch, cancel, jobs, logs.",
             (("an option of a build", "`build_options.cc`"), ("where a model's files are found", "`model_source.cc`")), tests=("build_test", "waiting_test")),
        Room("artifact", "cli_artifact", ("check", "device_options", "diff", "export", "fetch", "output_names", "run", "run_isolated", "show", "verify", "warmup"),
             "Give the commands about artifacts a room",
             "Commands about artifacts: fetch, verify, show, export, diff, run, warmup, check.",
             (("how a program runs apart", "`run_isolated.cc`"), ("what outputs are called", "`output_names.cc`"), ("what a fetch accepts", "`api/node/fetch.cc`, never here")),
             tests=("artifact_test", "check_test", "device_test", "output_names_test", "run_isolated_test", "run_test")),
        Room("audit", "cli_audit", ("affected", "audit", "log", "log_location", "log_prove", "log_witness", "provenance"), "Give the commands of auditors a room",
             "Commands of auditors: provenance, affected, audit, log.",
             (("what an audit checks", "`api/audit`"), ("where the log is found", "`log_location.cc`"))),
        Room("trust", "cli_trust", ("attest", "recall", "recall_draft", "recall_resolve", "trust", "trust_edit", "trust_sigstore"),
             "Give the commands that hold keys a room",
             "Commands that sign or change trust: trust, recall, attest.",
             (("a change to a trust root", "`trust_edit.cc`"), ("what a recall touches", "`recall_resolve.cc`")),
             extra=(VERSION.format("cli_trust"),), tests=("attest_test", "build_trust_test", "trust_test")),
        Room("toolchain", "cli_toolchain", ("toolchain", "toolchain_sources"), "Give the command about toolchains a room",
             "The command about toolchains: add, list, sources, save.",
             (("what is checked of a toolchain's sources", "`toolchain_sources.cc`"),), tests=("toolchain_test",)),
        Room("farm", "cli_farm", ("backup", "doctor", "doctor_blobs", "doctor_disks", "doctor_finding", "doctor_packages", "doctor_processes", "gc", "postgres_tools", "workers"),
             "Give the commands of operators a room",
             "Commands of who operates a farm: workers, gc, backup, restore, doctor.",
             (("what the doctor looks at", "one file per matter, `doctor_*.cc`"), ("how PostgreSQL's programs are called", "`postgres_tools.cc`")),
             extra=(VERSION.format("cli_farm"),), tests=("doctor_test", "maintenance_test")),
    ))

INDEX = Parent(
    folder="storage/index", library="index", tests="tests/storage/index", test_room="tests/storage/index", stay=("schema",),
    short=(("storage/", "index/"),),
    rooms=(
        Room("mention", "mention", ("mention", "part"), "Give mentions without a database a room",
             "What statements mention and toolchains consist of, computed from them alone: no database.",
             (("what a statement mentions", "`mention.cc`; a fuzz target holds it"),), tests=("mention_test",)),
        Room("rows", "index_rows", ("codec", "records", "run_codec"), "Give rows as values a room",
             "Rows as plain values, and between columns and members. The coordinator's pure code works on `records.h`.",
             (("a member of a row", "`records.h`, its codec, a new numbered file in `../schema`"),)),
        Room("jobs", "index_jobs", ("job_changes", "job_repository", "result_repository", "root_repository"), "Give the tables of jobs a room",
             "Jobs as stored, what changes about them, what builders left, and where a collection of garbage begins.",
             (("what changes about a job", "`job_changes.cc`, each idempotent"), ("where a collection begins", "`root_repository.cc`"))),
        Room("artifacts", "index_artifacts", ("artifact_repository", "attestation_repository", "mention_repository", "referrer_repository", "verdict_repository"),
             "Give the tables of artifacts a room",
             "Published artifacts with statements, mentions, verdicts and statements of third parties; the cache from action to artifact.",
             (("how an action finds its artifact", "`artifact_repository.cc`"), ("the rows of what a statement mentions", "`mention_repository.cc`"))),
        Room("log", "index_log", ("log_repository", "recall_repository"), "Give the tables of log and recalls a room",
             "What was signed and its place in the log, checkpoints, and versions of recalls.json.",
             (("the log's rows", "`log_repository.cc`"),)),
        Room("fleet", "index_fleet", ("farm_repository", "worker_repository"), "Give the tables of the fleet a room",
             "Workers, and the generation of lease epochs.",
             (("what is kept of a worker", "`worker_repository.cc`"),)),
        Room("toolchains", "index_toolchains", ("toolchain_parts", "toolchain_repository"), "Give the tables of toolchains a room",
             "Labels, admissions, and what toolchains consist of.",
             (("what is kept of a toolchain", "`toolchain_repository.cc`, `toolchain_parts.cc`"),)),
        Room("tuning", "index_tuning", ("tuning_repository",), "Give the tables of tuning a room",
             "What tuners measured, and what is known of each kernel from it.",
             (("what is kept of a measurement", "`tuning_repository.cc`"),)),
        Room("audit", "index_audit", ("affected", "affected_query", "audit_repository", "known_names"), "Give the questions of auditors to the index a room",
             "The questions that auditors ask, page by page, and what something has touched: the walk along posting lists.",
             (("the SQL of the walk", "`affected_query.cc`"), ("another question", "`audit_repository.cc`")), tests=("affected_test",)),
    ))

ONNX = Parent(
    folder="compiler_core/frontend/onnx", library="onnx_frontend", tests="tests/compiler_core/frontend", test_room="tests/compiler_core/frontend",
    short=(("compiler_core/", "frontend/onnx/"), ("compiler_core/frontend/", "onnx/")), top="onnx_frontend", mlir=True,
    rooms=(
        Room("reader", "onnx_reader", ("element_type", "external_data", "foreign_file", "load", "mapped_file", "model", "node_name", "parse", "tensor_data",
                                       "utf8", "validate", "wire"), "Give the reader of ONNX files a room",
             "From bytes to checked structs that are views of them: no MLIR, no protobuf library. Everything is hostile here.",
             (("an element type", "`element_type.cc`, `tensor_data.cc`, then the dialect"), ("a bound", "the file that reads it; the fuzz target `onnx_reader` holds it")),
             tests=("external_data_test", "foreign_file_test", "parse_test")),
        Room("served", "onnx_served", ("requirements", "served_operators"), "Give what is served of ONNX a room",
             "For those who do not import: the rows of the operator table without their functions, and what a compile of a model will ask for. No MLIR.",
             (("which operator is served", "its row in `served_operators.cc` and in `operators/`; a test holds the two against each other"),),
             tests=("requirements_test",)),
        Room("graph", "onnx_graph", ("graph_builder", "graph_builder_control", "index_checks", "initializers", "item", "node_context", "symbolic_values"),
             "Give the making of operations for one node a room",
             "What an importer of an operator works with: makes operations of the dialect, infers, verifies, folds; a node's inputs and attributes.",
             (("what folds", "`graph_builder.cc`, `symbolic_values.cc`"), ("an operation with regions", "`graph_builder_control.cc`")), mlir=True),
        Room("formula", "onnx_formula", ("formula", "gradient", "index_math", "sampling", "window"), "Give index arithmetic and gradients a room",
             "What operators are written in: formulas over tensors, flat positions, sampling, windows, and gradients of operations.",
             (("a rule of a gradient", "`gradient.cc`"), ("how an index is checked", "`index_math.cc`")), mlir=True, tests=("gradient_test", "index_checks_test")),
        Room("operators", "onnx_operators", ("operators",), "Give the table of operators the room of its rows",
             "One file per family of operators; each gives its rows of the table (`operators.h`).",
             (("an operator", "a function and a row in its family's file, the same row in `../served/served_operators.cc`"),
              ("an operator on sequences", "a row with `items` in place of `import`")), mlir=True,
             tests=("control_flow_test", "indexing_test", "recurrent_test", "selection_test")),
        Room("import", "onnx_frontend", ("graph_importer", "import", "replay", "unsupported"), "Give the walk over a graph a room",
             "The model's boundary, the walk over its nodes, inlining of functions, and the report of what is not served.",
             (("the boundary of a model", "`import.cc`"), ("how functions are inlined", "`graph_importer.cc`"),
              ("the report of what is not served", "`unsupported.cc`: apart, because it includes the JSON library")), mlir=True,
             own={"onnx_unsupported": (("unsupported",), "Apart from the importer, because it includes the JSON library.", False)},
             tests=("bad_input_test", "import_test", "samples_test", "symbolic_test")),
    ))

PARENTS = (SERVICE, CLI, INDEX, ONNX)

# Two-way includes inside compiler_core that a move alone removes.
MOVES = {
    "compiler_core/runtime/session/kernel_times.h": "compiler_core/runtime/program/kernel_times.h",
    "compiler_core/runtime/kiln_runtime.cc": "compiler_core/runtime/session/kiln_runtime.cc",
}

# The schedule stage stays one library. What both emitters read goes into analysis, what is chosen for a kernel into choice;
# lower, vectorize, gpu and the passes keep their places (issue 18, point 3, takes them apart by strategy).
SCHEDULE = {f"compiler_core/schedule/{old}": f"compiler_core/schedule/{new}" for old, new in (
    *((f"{name}{suffix}", f"choice/{name}{suffix}") for name in ("given", "heuristics", "knobs", "schedule", "schedule_override", "winograd_tiles") for suffix in (".cc", ".h")),
    *((f"gpu/contraction_tiles{suffix}", f"choice/contraction_tiles{suffix}") for suffix in (".cc", ".h")),
    *((f"gpu/heuristics{suffix}", f"choice/gpu_heuristics{suffix}") for suffix in (".cc", ".h")),
    *((f"{name}{suffix}", f"analysis/{name}{suffix}") for name in ("extents", "groups", "kernel_info", "partial_sums", "row_loop", "signature", "weight_arguments",
                                                                  "weight_panels") for suffix in (".cc", ".h")),
    ("dot.h", "analysis/packed_dot.h"),
    *((f"vectorize/{name}{suffix}", f"analysis/{name}{suffix}") for name in ("body", "dot", "roles") for suffix in (".cc", ".h")),
    *((f"gpu/contraction_roles{suffix}", f"analysis/contraction_roles{suffix}") for suffix in (".cc", ".h")),
)}

SCHEDULE |= {f"tests/compiler_core/schedule/{old}": f"tests/compiler_core/schedule/{new}" for old, new in (
    ("heuristics_test.cc", "choice/heuristics_test.cc"), ("knobs_test.cc", "choice/knobs_test.cc"),
    ("gpu/heuristics_test.cc", "choice/gpu_heuristics_test.cc"), ("weight_panels_test.cc", "analysis/weight_panels_test.cc"))}

ATTRIBUTES = "compiler_core/schedule/analysis/attributes.h"
ATTRIBUTES_HEAD = """// What the passes of this folder tell each other on operations. Private to compiler_core/schedule and the
// pipeline.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace kiln::schedule {

"""
SCHEDULE_NOTES = {
    "analysis": ("What both emitters read: which operations belong together, the roles of a kernel's loops, extents, the order of sums, packed operands, "
                 "a kernel by itself and its signature.",
                 "choice", (("what counts as one kernel", "`groups.h`"), ("the text that a signature is the digest of", "`signature.cc`"),
                            ("an attribute between the passes", "`attributes.h`"))),
    "choice": ("What is chosen for a kernel: the knobs with their defaults and legal values, and the tables that choose.",
               "none", (("a knob", "`schedule.h`, `knobs.cc`; its name stands in signed records"), ("a default", "`heuristics.cc`, `gpu_heuristics.cc`"))),
}
