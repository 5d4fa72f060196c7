// Every form of REAPI's inputs and outputs, by actions with a shell.
#include "storage/tree/directory.h"
#include "tests/worker/foreign_fixture.h"

namespace kiln::executor {
namespace {

using testing::HasSubstr;

class ForeignForms : public ForeignTest {};

TEST_F(ForeignForms, SeveralOutputsAreFilesDirectoriesAndLinks) {
  for (const char* path : {"absent", "link", "out/tree", "tool", "x/y/z.txt"})
    command_.add_output_paths(path);
  const auto result =
      run("echo text >x/y/z.txt && cp /bin/cat tool && ln -s nowhere link && mkdir -p out/tree/empty "
          "out/tree/a/b && echo b >out/tree/a/b/file && ln -s a/b out/tree/alias && echo said && echo rest "
          ">rest");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 0) << result->stderr_raw();
  EXPECT_EQ(result->stdout_raw(), "said\n");
  ASSERT_EQ(result->output_files_size(), 2);
  EXPECT_EQ(result->output_files(0).path(), "tool");
  EXPECT_TRUE(result->output_files(0).is_executable());
  EXPECT_EQ(result->output_files(1).path(), "x/y/z.txt");
  EXPECT_FALSE(result->output_files(1).is_executable());
  EXPECT_EQ(get(result->output_files(1).digest()), "text\n");
  ASSERT_EQ(result->output_symlinks_size(), 1);
  EXPECT_EQ(result->output_symlinks(0).path(), "link");
  EXPECT_EQ(result->output_symlinks(0).target(), "nowhere");
  ASSERT_EQ(result->output_directories_size(), 1);
  EXPECT_EQ(result->output_directories(0).path(), "out/tree");
  EXPECT_FALSE(result->output_directories(0).has_root_directory_digest());
  reapi::Tree tree;
  ASSERT_TRUE(tree.ParseFromString(get(result->output_directories(0).tree_digest())));
  ASSERT_EQ(tree.root().directories_size(), 2);
  EXPECT_EQ(tree.root().directories(0).name(), "a");
  EXPECT_EQ(tree.root().directories(1).name(), "empty");
  ASSERT_EQ(tree.root().symlinks_size(), 1);
  EXPECT_EQ(tree.root().symlinks(0).target(), "a/b");
  EXPECT_EQ(tree.children_size(), 3);
}

TEST_F(ForeignForms, DirectoriesComeInTheFormAskedFor) {
  command_.add_output_paths("d");
  const std::string script = "mkdir -p d/one d/two && echo x >d/one/f && echo x >d/two/f";
  command_.set_output_directory_format(reapi::Command::TREE_AND_DIRECTORY);
  const auto both = run(script);
  ASSERT_TRUE(both) << both.error().message;
  ASSERT_EQ(both->output_directories_size(), 1);
  const auto& directory = both->output_directories(0);
  reapi::Tree tree;
  ASSERT_TRUE(tree.ParseFromString(get(directory.tree_digest())));
  EXPECT_EQ(tree.children_size(), 1) << "equal directories are one message";
  // What an action made is what another one may take: canonical Directory messages, all in the store.
  const auto root = storage::parseDirectory(get(directory.root_directory_digest()), 0);
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(root->SerializeAsString(), tree.root().SerializeAsString());
  EXPECT_TRUE(storage::parseDirectory(get(root->directories(0).digest()), 1));
  command_.set_output_directory_format(reapi::Command::DIRECTORY_ONLY);
  const auto alone = run(script);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_FALSE(alone->output_directories(0).has_tree_digest());
  EXPECT_EQ(alone->output_directories(0).root_directory_digest().hash(),
            directory.root_directory_digest().hash());
}

TEST_F(ForeignForms, TheFormsOf20AreServedAndCheckedByKind) {
  command_.add_output_files("o/f");
  command_.add_output_files("o/link");
  command_.add_output_directories("d");
  command_.add_output_directories("dlink");
  const auto result = run("echo f >o/f; ln -s f o/link; mkdir d; echo g >d/g; ln -s d dlink");
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->output_files_size(), 1);
  EXPECT_EQ(result->output_files(0).path(), "o/f");
  ASSERT_EQ(result->output_directories_size(), 1);
  ASSERT_EQ(result->output_file_symlinks_size(), 1);
  EXPECT_EQ(result->output_file_symlinks(0).path(), "o/link");
  ASSERT_EQ(result->output_directory_symlinks_size(), 1);
  EXPECT_EQ(result->output_directory_symlinks(0).target(), "d");
  EXPECT_EQ(result->output_symlinks_size(), 0);
  EXPECT_EQ(errorOf("mkdir o/f"), "INVALID_ARGUMENT: output o/f is a directory; a file was wanted");
  EXPECT_EQ(errorOf("echo >d"), "INVALID_ARGUMENT: output d is a file; a directory was wanted");
}

TEST_F(ForeignForms, TheWorkingDirectoryIsBelowTheInputRootAndOutputsBelowIt) {
  addInput("src/main.c", "int main;\n");
  addInput("include/a.h", "a\n");
  command_.set_working_directory("src");
  command_.add_output_paths("out/copy");
  const auto result = run("cat main.c ../include/a.h >out/copy; pwd; ls -d ../*");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->stdout_raw(), "/work/src\n../include\n../src\n") << result->stderr_raw();
  ASSERT_EQ(result->output_files_size(), 1);
  EXPECT_EQ(result->output_files(0).path(), "out/copy");
  EXPECT_EQ(get(result->output_files(0).digest()), "int main;\na\n");
  command_.set_working_directory("new/place");
  EXPECT_EQ(said("pwd"), "/work/new/place\n") << "made where the input root has none";
  command_.clear_output_paths();
  command_.add_output_paths("");
  const auto whole = run("echo >left");
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_EQ(whole->output_directories_size(), 1);
  EXPECT_EQ(whole->output_directories(0).path(), "");
}

// As the coordinator would refuse it: on every worker, and before anything is uploaded.
TEST_F(ForeignForms, LinksThatLeadOutAreRefusedByName) {
  command_.set_working_directory("w");
  command_.add_output_paths("o");
  command_.add_output_paths("link");
  const std::string refused = "INVALID_ARGUMENT: output w/o/l is a link: symlink target '";
  EXPECT_EQ(errorOf("mkdir o; ln -s ../../.. o/l"), refused + "../../..' leaves the tree");
  EXPECT_EQ(errorOf("mkdir o; ln -s ../x o/l"), refused + "../x' leaves the tree")
      << "of the output directory";
  EXPECT_EQ(errorOf("mkdir o; ln -s /etc/passwd o/l"),
            refused + "/etc/passwd' is absolute; targets stay inside the tree");
  EXPECT_EQ(errorOf("ln -s ../../x link"),
            "INVALID_ARGUMENT: output w/link is a link: symlink target '../../x' leaves the tree");
  const auto inside = run("ln -s ../x link; mkdir -p o/d; ln -s ../y o/d/l");
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_EQ(inside->output_symlinks(0).target(), "../x") << "beside the working directory";
  EXPECT_EQ(inside->output_directories_size(), 1);
}

TEST_F(ForeignForms, OutputsOfAFailedActionAreCollected) {
  command_.add_output_paths("log");
  const auto result = run("echo why >log; echo bad >&2; exit 3");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 3);
  EXPECT_EQ(result->stderr_raw(), "bad\n");
  ASSERT_EQ(result->output_files_size(), 1);
  EXPECT_EQ(get(result->output_files(0).digest()), "why\n");
}

TEST_F(ForeignForms, InputTreesHaveLinksEmptyDirectoriesAndModes) {
  addInput("lib/libx.so.1", "x\n");
  addInput("run", "#!/bin/sh\necho ran\n", true);
  ASSERT_TRUE(inputs_.addSymlink("lib/libx.so", "libx.so.1"));
  ASSERT_TRUE(inputs_.addSymlink("up", "lib"));
  ASSERT_TRUE(inputs_.addDirectory("empty"));
  EXPECT_EQ(said("./run; cat lib/libx.so up/libx.so; ls -A empty; test -w . && test -w lib && echo writable"),
            "ran\nx\nx\nwritable\n");
  EXPECT_EQ(
      said("echo more >>lib/libx.so.1 || rm lib/libx.so.1 && echo new >lib/libx.so.1 && cat up/libx.so"),
      "new\n/bin/sh: 1: cannot create lib/libx.so.1: Permission denied\n")
      << "a copy of the action's own: to replace, not to change by accident";
  EXPECT_THAT(said("ls -l run lib/libx.so.1"),
              testing::AllOf(HasSubstr("-r--r--r-- 1 1000 1000  2 Jan  1  1970 lib/libx.so.1\n"),
                             HasSubstr("-r-xr-xr-x 1 1000 1000 19 Jan  1  1970 run\n"),
                             testing::Not(HasSubstr("ls:"))));
  EXPECT_EQ(said("cat lib/libx.so"), "x\n") << "and the next action has its own";
  command_.add_output_paths("up/out");
  EXPECT_EQ(
      errorOf("true"),
      "INVALID_ARGUMENT: input tree: up is no directory, and the action works in it or writes below it");
}

TEST_F(ForeignForms, OutputsMayBeInputsToo) {
  addInput("d/in", "in\n");
  command_.add_output_paths("d");
  const auto result = run("echo new >d/new");
  ASSERT_TRUE(result) << result.error().message;
  reapi::Tree tree;
  ASSERT_TRUE(tree.ParseFromString(get(result->output_directories(0).tree_digest())));
  EXPECT_EQ(tree.root().files_size(), 2);
}

TEST_F(ForeignForms, TheRootTreeStandsAtTheRootAndNothingElseDoes) {
  EXPECT_EQ(said("ls -A /; ls -A /dev; ls -A /tmp; test -L /bin && echo link"),
            "bin\ndev\netc\nlib\nlib64\nproc\ntmp\nusr\nwork\n"
            "fd\nfull\nnull\nrandom\nstderr\nstdin\nstdout\nurandom\nzero\nlink\n");
}

TEST_F(ForeignForms, WithoutARootTreeTheInputsAreAllThereIs) {
  command_.clear_platform();
  std::ifstream file(sandbox::hostilePath(), std::ios::binary);
  std::stringstream tool;
  tool << file.rdbuf();
  addInput("tools/hostile", tool.str(), true);
  command_.set_working_directory("tools");
  const auto result = runArguments({"./hostile", "facts"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->stdout_raw(), HasSubstr("cwd /work/tools\nls /: dev proc tmp work\n"));
  EXPECT_THAT(result->stdout_raw(), HasSubstr("env PATH=/usr/bin\nenv PWD=/work/tools\nfd 0"));
}

TEST_F(ForeignForms, ProgramsAreFoundByTheCommandsOwnPath) {
  const auto result = runArguments({"hostile", "exit", "5"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->exit_code(), 5);
  command_.clear_environment_variables();
  const auto missing = runArguments({"no-such-program"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kInvalidArgument) << "no worker has it";
  EXPECT_THAT(missing.error().message, HasSubstr("command: \"no-such-program\" cannot be started"));
}

TEST_F(ForeignForms, TheMetadataSaysWhoDidWhatWhen) {
  const auto result = run("sleep 0.05");
  ASSERT_TRUE(result) << result.error().message;
  const auto& metadata = result->execution_metadata();
  EXPECT_EQ(metadata.worker(), "w1");
  const auto at = [](const google::protobuf::Timestamp& time) {
    return time.seconds() * 1'000'000'000 + time.nanos();
  };
  EXPECT_LE(at(metadata.worker_start_timestamp()), at(metadata.input_fetch_start_timestamp()));
  EXPECT_LT(at(metadata.input_fetch_start_timestamp()), at(metadata.input_fetch_completed_timestamp()));
  EXPECT_LE(at(metadata.input_fetch_completed_timestamp()), at(metadata.execution_start_timestamp()));
  EXPECT_LT(at(metadata.execution_start_timestamp()) + 50'000'000,
            at(metadata.execution_completed_timestamp()));
  EXPECT_LE(at(metadata.execution_completed_timestamp()), at(metadata.output_upload_start_timestamp()));
  EXPECT_LE(at(metadata.output_upload_start_timestamp()), at(metadata.output_upload_completed_timestamp()));
  EXPECT_LE(at(metadata.output_upload_completed_timestamp()), at(metadata.worker_completed_timestamp()));
  EXPECT_FALSE(metadata.has_queued_timestamp()) << "that the coordinator knows";
}

TEST_F(ForeignForms, RootTreesThatCannotStandThereAreRefusedByName) {
  const auto with = [&](const std::function<void(storage::TreeBuilder&)>& fill) {
    storage::TreeBuilder builder;
    fill(builder);
    const storage::BuiltTree tree = builder.build();
    for (const storage::UploadItem& item : tree.directories) put(item.bytes);
    command_.mutable_platform()->mutable_properties(0)->set_value(tree.root.text() + "/" +
                                                                  std::to_string(tree.root.size));
    return errorOf("true");
  };
  for (const std::string name : {"dev", "proc", "tmp", "work"})
    EXPECT_EQ(with([&](auto& tree) { (void)tree.addFile(name + "/x", put("x"), false); }),
              "INVALID_ARGUMENT: root tree: " + name +
                  " is more than an empty directory; the sandbox has a /" + name + " of its own");
  EXPECT_EQ(with([&](auto& tree) {
              for (int i = 0; i < 25; ++i) (void)tree.addDirectory("d" + std::to_string(i));
            }),
            "INVALID_ARGUMENT: root tree: more than 24 entries at its top");
  command_.mutable_platform()->mutable_properties(0)->set_value(digestOf("absent").text() + "/6");
  EXPECT_THAT(errorOf("true"), HasSubstr("NOT_FOUND: root tree: "));
}

TEST(AsOrdinaryUser, TheForeignFormsPass) {
  sandbox::runAgainAsOrdinaryUser("ForeignForms.*");
}

}  // namespace
}  // namespace kiln::executor
