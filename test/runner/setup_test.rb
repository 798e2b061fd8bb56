# frozen_string_literal: true

require "test_helper"
require "open3"

# The parts of bin/setup that can be tested without installing anything.
class SetupTest < Tiercel::TestCase
  BIN = File.expand_path("../../bin", __dir__)

  # Runs shell code with bin/setup's functions; $1... are the arguments.
  def shell(code, *arguments, input: "", env: {})
    parts = %w[common steps packages debian_source build_ruby].map { |part| ". #{BIN}/support/#{part}.sh" }
    command = ["bash", "-u", "-c", [*parts, code].join("\n"), "bash", *arguments]
    output, status = Open3.capture2e(env, *command, stdin_data: input)
    Struct.new(:output, :success).new(output, status.success?)
  end

  def fake_ruby(dir, version: "3.3.8", engine: "ruby", yjit: true)
    path = File.join(dir, "ruby")
    prelude = %(require "rbconfig"; Object.send(:remove_const, :RUBY_VERSION); RUBY_VERSION = "#{version}"; ) +
              %(Object.send(:remove_const, :RUBY_ENGINE); RUBY_ENGINE = "#{engine}"; ) +
              (yjit ? "" : "RubyVM.send(:remove_const, :YJIT);")
    File.write(File.join(dir, "prelude.rb"), prelude)
    File.write(path, "#!/bin/sh\nexec #{RbConfig.ruby} -W0 -I#{dir} -rprelude \"$@\"\n")
    File.chmod(0o755, path)
    path
  end

  def suitable?(**options)
    with_tmpdir { |dir| shell('suitable_ruby "$1"', fake_ruby(dir, **options)).success }
  end

  def test_which_rubies_will_do
    %w[3.3.8 3.3.11 3.4.3 3.4.10 4.0.0 4.1.2].each { |version| assert suitable?(version: version), version }
    %w[3.1.2 3.2.9 3.3.7 3.4.2 2.7.8].each { |version| refute suitable?(version: version), version }
    refute suitable?(engine: "jruby")
    refute suitable?(yjit: false)
    refute shell("suitable_ruby /no/such/ruby").success
  end

  def test_mirrors_are_read_from_one_line_sources
    sources = <<~LIST
      # deb http://old.example/debian bookworm main
      deb [arch=amd64 signed-by=/usr/share/k.gpg] http://a.example/debian bookworm main contrib
      deb-src http://b.example/debian bookworm-updates main
    LIST
    assert_equal "/usr/share/k.gpg http://a.example/debian bookworm\n- http://b.example/debian bookworm-updates\n",
                 shell("one_line_sources", input: sources).output
  end

  def test_mirrors_are_read_from_deb822_sources
    sources = <<~LIST
      Types: deb
      # an older one
      URIs: http://a.example/debian http://b.example/debian
      Suites: bookworm bookworm-updates
      Signed-By: /usr/share/k.gpg

      Types: deb
      URIs: http://c.example/debian
      Suites: bookworm
      Enabled: no

      Types: deb
      URIs: http://d.example/debian
      Suites: bookworm
      Signed-By:
       -----BEGIN PGP PUBLIC KEY BLOCK-----
       .
       abc
    LIST
    lines = shell("deb822_sources", input: sources).output.lines(chomp: true)
    expected = %w[a b].product(%w[bookworm bookworm-updates]).map do |host, suite|
      "/usr/share/k.gpg http://#{host}.example/debian #{suite}"
    end
    assert_equal [*expected, "- http://d.example/debian bookworm"].sort, lines.sort
  end

  def test_a_step_that_fails_shows_the_end_of_its_log_and_where_it_is
    result = shell('log="$1/log"; : >"$log"; step "Doing it" sh -c "echo the reason; exit 4"', dir)
    refute result.success
    assert_includes result.output, "Doing it  FAILED (exit status 4)"
    assert_includes result.output, "    | the reason"
    assert_includes result.output, "#{dir}/log"
  end

  # As two checkouts that install gems into one folder, each with its own lock.
  def test_a_shared_lock_excludes_other_checkouts_and_outlives_a_killed_one
    hold = 'lock "$1/$2"; with_lock "$1/shared" eval "echo in >>$1/trace; sleep 0.1; echo out >>$1/trace"'
    folder = dir
    %w[a b c].map { |checkout| Thread.new { shell(hold, folder, checkout) } }.each(&:join)
    assert_equal %w[in out] * 3, File.readlines("#{dir}/trace", chomp: true)
    orphan = 'log="$1/log"; : >"$log"; lock "$1/d"; ' \
             'with_lock "$1/shared" step text sh -c "echo in >>$1/trace; read line <$1/pipe"'
    File.mkfifo("#{dir}/pipe")
    parts = %w[common steps].map { |part| ". #{BIN}/support/#{part}.sh" }
    killed = spawn("bash", "-c", [*parts, orphan].join("\n"), "bash", dir, pgroup: true, err: File::NULL)
    wait_until { File.readlines("#{dir}/trace").size == 7 }
    Process.kill(:KILL, -killed)
    Process.wait(killed)
    refute File.open("#{dir}/shared") { |file| file.flock(File::LOCK_EX | File::LOCK_NB) }, "its step still runs"
    File.write("#{dir}/pipe", "\n")
    assert(wait_until { File.open("#{dir}/shared") { |file| file.flock(File::LOCK_EX | File::LOCK_NB) } })
  end

  def test_an_interrupted_set_up_is_not_taken_for_a_complete_one
    complete = ->(*files) do
      files.each { |file| File.write("#{dir}/#{file}", file == "ruby" ? RbConfig.ruby : "stamp") }
      shell('state=$1; load_setup', dir).success
    end
    refute complete.call
    refute complete.call("ruby")
    refute complete.call("gems")
    assert complete.call("extensions")
  end

  # A killed compiler leaves half an object file, which make would link.
  def test_what_a_killed_step_has_left_is_removed_before_it_runs_again
    with_tmpdir do |dir|
      run = ->(command) { shell('cd "$1"; undo() { echo undo; }; whole mark undo eval "$2"', dir, command) }
      killed = run.call("kill -KILL $$")
      refute killed.success
      assert_equal ["undo\ndone\n", true], run.call("echo done").to_a
      assert_equal ["done\n", true], run.call("echo done").to_a
      refute run.call("false").success
      assert_equal ["done\n", true], run.call("echo done").to_a, "a step that failed leaves nothing half-written"
    end
  end

  def test_the_lab_needs_its_own_gems_only
    with_tmpdir do |dir|
      %w[ruby lab_gems extensions].each { |file| File.write("#{dir}/#{file}", RbConfig.ruby) }
      assert shell('state=$1; load_setup lab_gems', dir).success
      refute shell('state=$1; load_setup', dir).success
    end
  end

  # An installation reads a Gemfile once without the gemspecs, so without the constants that a gemspec brings.
  def test_a_gemfile_needs_no_gemspec
    Dir[File.expand_path("../../gemfiles/*.gemfile", __dir__)].each do |path|
      read = %w[-rbundler -rbundler/plugin -e Bundler::Plugin::DSL.new.eval_gemfile(ARGV[0])]
      output, status = Open3.capture2e({ "RUBYOPT" => nil, "BUNDLER_SETUP" => nil }, RbConfig.ruby, *read, path)
      assert status.success?, output
    end
  end

  def test_each_command_prepares_what_it_needs
    text = File.read("#{BIN}/setup")[/^quiet=.*?^done\nprograms.*?^done$/m]
    of = ->(part) { shell("state=x\n#{text}\nprintf %s \"$programs\"", *part.split) }
    wanted = ["", "lab", "core"].to_h do |part|
      [part, %w[chromium redis-server].map { |program| of[part].output.include?(program) }]
    end
    assert_equal({ "" => [true, true], "lab" => [false, true], "core" => [false, false] }, wanted)
    assert_match(/unknown word nothing; there are core/, of["nothing"].output)
    assert_match(/ part=lab ;;$.*bin\/setup" --quiet "\$part"/m, File.read("#{BIN}/lab"))
    assert_match(%r{/bin/setup" core\b}, File.read("#{BIN}/exec"))
  end

  def test_exec_keeps_the_folder_and_the_status_of_the_command
    output, status = Open3.capture2e("#{BIN}/exec", "ruby", "-e", "puts Dir.pwd; exit 5", chdir: dir)
    assert_equal [File.realpath(dir), 5], [output.chomp, status.exitstatus]
    assert_equal 2, Open3.capture2e("#{BIN}/exec").last.exitstatus
  end
end
