# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/small_gem"
require "yaml"

# The workflows of `init ci`: their form, and a run of each step's shell commands.
class InitWorkflowsTest < LabCase
  EXECUTABLE = File.expand_path("../../../exe/tiercel-lab", __dir__)
  FILES = %w[.github/workflows/benchmarks.yml .github/workflows/benchmark-history.yml].freeze
  # The keys of GitHub's workflow syntax that the templates use.
  KEYS = { workflow: %w[name on permissions concurrency defaults env jobs],
           job: %w[name runs-on timeout-minutes permissions env steps needs if],
           step: %w[name id uses with run env if shell working-directory] }.freeze
  ACTIONS = %w[actions/checkout@v4 ruby/setup-ruby@v1 actions/cache@v4 actions/upload-artifact@v4].freeze

  def workflows(folder) = FILES.to_h { |file| [file, YAML.safe_load_file(File.join(folder, file))] }

  def steps(workflow) = workflow["jobs"].values.flat_map { |job| job["steps"] }

  def written(*arguments)
    Dir.mktmpdir do |folder|
      code, out, err = lab("init", "ci", "--repository", folder, *arguments)
      assert_equal [0, ""], [code, err]
      yield folder, out
    end
  end

  def test_their_form
    [[], %w[--servers redis,memcached], %w[--kind rails --servers redis]].each do |arguments|
      written(*arguments) do |folder, _out|
        workflows(folder).each_value { |workflow| check_form(workflow) }
        Lab::Tables::Gate::Configuration.read(File.join(folder, ".tiercel-lab.yml"))
      end
    end
  end

  def check_form(workflow)
    events = workflow[true] # YAML 1.1 takes "on" for a truth
    assert_empty events.keys - %w[pull_request schedule workflow_dispatch]
    assert_empty (workflow.keys - [true]) - KEYS[:workflow]
    assert_empty workflow["permissions"].to_a - [%w[contents read], %w[contents write], %w[pull-requests write]]
    refute_includes workflow.to_s, "secrets.", "no secret is needed"
    workflow["jobs"].each_value { |job| assert_empty job.keys - KEYS[:job] }
    steps(workflow).each do |step|
      assert_empty step.keys - KEYS[:step]
      assert_equal 1, [step["uses"], step["run"]].compact.size, step
      assert_includes ACTIONS, step["uses"] if step["uses"]
      check_shell(step["run"]) if step["run"]
    end
  end

  # Text from outside reaches a shell only through variables.
  def check_shell(text)
    refute_includes text, "${{"
    said, status = Open3.capture2e("bash", "-n", stdin_data: text)
    assert status.success?, said
    return unless ENV["PATH"].split(":").any? { |folder| File.executable?(File.join(folder, "shellcheck")) }
    said, status = Open3.capture2e("shellcheck", "--shell=bash", "-", stdin_data: text)
    assert status.success?, said
  end

  def test_what_is_there_stays_and_the_gem_is_found_by_its_name
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "my-gem.gemspec"), "")
      File.write(File.join(folder, "Gemfile"), "gem \"tiercel-lab\"\n")
      File.write(File.join(folder, ".tiercel-lab.yml"), "mine")
      code, out, = lab("init", "gate", "--repository", folder)
      assert_equal [0, "mine"], [code, File.read(File.join(folder, ".tiercel-lab.yml"))]
      assert_match(/^kept     \.tiercel-lab\.yml .*\nwritten  bench\/my-gem_bench\.rb$/, out)
      refute_includes out, "Add to the Gemfile: gem \"tiercel-lab\""
      assert_includes out, "Add to the Gemfile: gem \"vernier\""
      assert_includes File.read(File.join(folder, "bench/my-gem_bench.rb")), "require \"my/gem\""
      refute File.exist?(File.join(folder, ".github"))
      lab("init", "gate", "--repository", folder, "--force")
      refute_equal "mine", File.read(File.join(folder, ".tiercel-lab.yml"))
    end
    assert_refused(%w[init] => /expected gate or ci/, %w[init all] => /expected gate or ci/,
                   %w[init ci --servers oracle] => /oracle/,
                   %w[init ci --repository /nowhere] => /folder does not exist/)
  end

  # GitHub and gates look for the files in the repository's root.
  def test_a_part_of_a_repository_is_refused
    SmallGem.make(gate: nil) do |gem|
      folder = File.join(gem.folder, "lib")
      code, _out, err = lab("init", "ci", "--repository", folder)
      assert_equal 2, code
      assert_match(%r{lib is a part of the repository #{gem.folder}: .*--repository #{gem.folder}}, err)
      assert_equal %w[small_gem.rb], Dir.children(folder)
    end
  end

  # Runs the steps as a CI runner would: a pull request that allocates more, then two nights.
  def test_the_shell_of_each_step
    SmallGem.make(gate: nil) do |gem|
      @home = File.dirname(gem.folder)
      lab("init", "ci", "--repository", gem.folder, "--servers", "redis")
      FileUtils.rm(File.join(gem.folder, "bench/small_gem_bench.rb"))
      gem.change(".tiercel-lab.yml", "time: 0.05", "time: null")
      gem.change(".tiercel-lab.yml", "budget: 300", "budget: 1")
      gem.commit("Benchmarks")
      gem.git("clone", "--quiet", "--bare", gem.folder, File.join(@home, "origin.git"))
      gem.git("remote", "add", "origin", File.join(@home, "origin.git"))
      prepare_runner(gem)
      gem.change("lib/small_gem.rb", "text.split", "text.dup.split").commit("Copy")
      pull_request(workflows(gem.folder).fetch(FILES[0]))
      nights(workflows(gem.folder).fetch(FILES[1]))
    end
  end

  # Replaces programs that would change the machine or call GitHub: they only print their arguments.
  def prepare_runner(gem)
    @gem = gem
    @bin = File.join(@home, "bin")
    FileUtils.mkdir_p([@bin, File.join(@home, "temp")])
    program("sudo", "exec \"$@\"")
    program("apt-get", <<~BASH)
      echo "apt-get $*" >> '#{@home}/said'
      case "$*" in *download-only*) touch "$HOME/servers/redis.deb";; esac
    BASH
    program("dpkg", "echo \"dpkg $*\" >> '#{@home}/said'")
    program("bundle", "shift 2\nexec '#{RbConfig.ruby}' '#{EXECUTABLE}' \"$@\"")
    program("gh", <<~BASH)
      echo "gh $*" >> '#{@home}/said'
      case "$*" in *--jq*) cat '#{@home}/comment-id' 2>/dev/null || true;; esac
    BASH
  end

  def program(name, text)
    path = File.join(@bin, name)
    File.write(path, "#!/usr/bin/env bash\n#{text}\n")
    FileUtils.chmod(0o755, path)
  end

  def said = File.exist?(File.join(@home, "said")) ? File.read(File.join(@home, "said")) : ""

  # @return [Array(Integer, String)] exit code and output of the named step
  def step(job, name)
    text = job["steps"].find { |one| one["name"] == name }.fetch("run")
    variables = { "PATH" => "#{@bin}:#{ENV.fetch("PATH")}", "HOME" => @home, "NUMBER" => "7",
                  "RUNNER_TEMP" => File.join(@home, "temp"), "GITHUB_REPOSITORY" => "somebody/small_gem",
                  "GITHUB_SHA" => "abc", "GITHUB_STEP_SUMMARY" => File.join(@home, "summary.md"),
                  "XDG_CACHE_HOME" => File.join(@home, "cache"),
                  "XDG_DATA_HOME" => File.join(@home, "data") }
    out, status = Open3.capture2e(variables, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text,
                                  chdir: @gem.folder)
    [status.exitstatus, out]
  end

  def pull_request(workflow)
    gate, profile = workflow["jobs"].values_at("gate", "profile")
    2.times { assert_equal 0, step(gate, "Servers").first }
    assert_equal 1, said.scan("download-only").size, "what was downloaded is not downloaded again"
    code, out = step(gate, "Gate")
    assert_equal 1, code, out
    assert_match(/^Failed: parse: objects allocated by one call: \d+ \u2192 \d+\.$/, out)
    report = File.join(@home, "temp/report")
    assert_empty %w[comment.md gate.html gate.json] - Dir.children(report)
    check_comment(gate)
    code, out = step(profile, "Profile")
    assert_equal 0, code, out
    assert_equal 2, Dir[File.join(@home, "temp/profiles/*.profile.json")].size
  end

  def check_comment(gate)
    assert_equal 0, step(gate, "Comment").first
    assert_match(%r{^gh api --method POST repos/somebody/small_gem/issues/7/comments --field body=@}, said)
    File.write(File.join(@home, "comment-id"), "42\n43\n")
    assert_equal 0, step(gate, "Comment").first
    assert_match(%r{^gh api --method PATCH repos/somebody/small_gem/issues/comments/42 --field body=@}, said)
  end

  # The second night measures what the first one did.
  def measured_again
    results = File.join(@home, "temp/history/results")
    FileUtils.cp(File.join(results, *Dir.children(results)), File.join(results, "21001231T000000Z.json"))
    [0, ""]
  end

  def nights(workflow)
    job = workflow["jobs"]["history"]
    2.times do |night|
      FileUtils.rm_rf(File.join(@home, "temp/history"))
      @gem.git("worktree", "prune")
      ["Earlier results", "Measure", "Keep", "Alert"].each do |name|
        code, out = night == 1 && name == "Measure" ? measured_again : step(job, name)
        assert_equal 0, code, "night #{night}, #{name}: #{out}"
      end
    end
    assert_match(/^# History: 2 runs, 1 machine$/, File.read(File.join(@home, "summary.md")))
    origin = File.join(@home, "origin.git")
    assert_equal 2, @gem.git("--git-dir", origin, "ls-tree", "--name-only", "benchmark-history:results").lines.size
    assert_path_exists File.join(@home, "temp/history.html")
  end
end
