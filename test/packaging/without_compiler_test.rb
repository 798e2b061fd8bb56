# frozen_string_literal: true

require "test_helper"
require "bundler"
require "open3"
require "rubygems/package"
require_relative "../support/committed_files"
require_relative "../support/installed_gem"

# Installations without a C compiler: of the source gem, which fails, and of a precompiled one; and a gem by its path,
# which nobody compiles.
class WithoutCompilerTest < Tiercel::TestCase
  ROOT = CommittedFiles::ROOT
  NO_BUNDLE = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE BUNDLER_SETUP].to_h { |name| [name, nil] }.freeze
  COUNT = 'require "tiercel"; cache = Tiercel.new("shared:" + ARGV[0], size: "1MB"); print cache.increment("n"), ' \
          'Tiercel::Codec.native.inspect, $LOADED_FEATURES.grep(/(segment|codec)_ext/).join(" ")'

  # @return [String] the command's output
  def run_command(*command, env: {}, **options)
    output, status = Open3.capture2e({ **NO_BUNDLE, **env }, *command, **options)
    assert status.success?, "#{command.join(" ")}\n#{output}"
    output
  end

  def native_gem(folder)
    env = { "BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile") }
    run_command(RbConfig.ruby, "-S", "bundle", "exec", "rake", "native[#{folder}]", env:, chdir: ROOT)
    Dir["#{folder}/*.gem"].first
  end

  def test_the_source_gem_is_not_installed_and_says_what_is_missing
    error = assert_raises(RuntimeError) { InstalledGem.open(path: "/nonexistent") { flunk "it was installed" } }
    assert_match(/^ *Tiercel is not installed, because its C extensions could not be built: The compiler failed/,
                 error.message)
    assert_match(/apt-get install build-essential/, error.message)
  end

  def test_the_reason_is_the_compilers_own
    error = assert_raises(RuntimeError) do
      plant = { "ext/tiercel/segment/segment_ext.c" => "int planted = ;\n" }
      InstalledGem.open(plant:) { flunk "it was installed" }
    end
    assert_match(/could not be built: .*segment_ext\.c:\d+:\d+: error: expected expression/, error.message)
  end

  def test_a_native_gem_installs_and_works_where_there_is_no_compiler
    with_tmpdir do |folder|
      gem = native_gem(folder)
      assert_match(/-(gnu|musl|darwin.*)\.gem\z/, gem)
      requirement = Gem::Package.new(gem).spec.required_ruby_version
      assert requirement.satisfied_by?(Gem::Version.new(RUBY_VERSION)), requirement
      refute requirement.satisfied_by?(Gem::Version.new(RUBY_VERSION).bump.bump), "for one line of Ruby"
      contents = Gem::Package.new(gem).contents
      assert_equal %w[codec_ext segment_ext], contents.grep(/\.(so|bundle)\z/).map { |path| path[/\w+_ext/] }.sort
      assert_empty contents.grep(%r{\Aext/|\.(c|h|o)\z})

      home = File.realpath(folder)
      env = { "GEM_HOME" => home, "GEM_PATH" => [home, *Gem.path].join(":"), "PATH" => "/nonexistent", "CC" => nil }
      run_command(RbConfig.ruby, "-S", File.join(RbConfig::CONFIG["bindir"], "gem"), "install", "--local",
                  "--no-document", "--ignore-dependencies", gem, env:)
      counted = run_command(RbConfig.ruby, "-e", COUNT, "#{folder}/segment", env:)
      assert_match(/\A1CodecExt|\A1Tiercel::CodecExt/, counted)
      assert_equal 2, counted.scan("#{home}/gems/tiercel-").size, counted
    end
  end

  # Bundler does not compile a gem in a path. The message contains a command, and that command works.
  def test_a_gem_by_its_path_says_what_to_type
    with_tmpdir do |folder|
      clone = copy_to(File.join(File.realpath(folder), "tiercel"))
      File.write("#{folder}/Gemfile", %(gem "tiercel", path: "#{clone}"\n))
      env = { "BUNDLE_GEMFILE" => "#{folder}/Gemfile" }
      bundled = lambda do
        Open3.capture2e({ **NO_BUNDLE, **env }, RbConfig.ruby, "-rbundler/setup", "-e", COUNT, "#{folder}/segment")
      end
      output, status = bundled.call
      refute status.success?
      command = output[%r{type: ruby (\S+/ext/compile\.rb)}, 1]
      assert_equal "#{clone}/ext/compile.rb", command, output
      run_command(RbConfig.ruby, command)
      output, status = bundled.call
      assert status.success?, output
      assert_match(/\A1.*#{clone}/, output)
    end
  end

  def test_a_gem_from_git_is_compiled_by_bundler
    skip "compiles everything once more: --long" unless long?
    with_tmpdir do |folder|
      folder = File.realpath(folder)
      clone = copy_to("#{folder}/tiercel")
      git = %w[git -c user.name=test -c user.email=test@example.com]
      [%w[init --quiet], %w[add --all], %w[commit --quiet -m all]].each do |words|
        run_command(*git, *words, chdir: clone)
      end
      File.write("#{folder}/Gemfile", %(gem "tiercel", git: "file://#{clone}"\n))
      env = { "BUNDLE_GEMFILE" => "#{folder}/Gemfile", "GEM_HOME" => "#{folder}/home", "BUNDLE_LOCAL" => "1",
              "GEM_PATH" => ["#{folder}/home", *Gem.path].join(":"), "BUNDLE_APP_CONFIG" => "#{folder}/.bundle" }
      run_command(RbConfig.ruby, "-S", "bundle", "install", "--local", env:)
      assert_match(/\A1/, run_command(RbConfig.ruby, "-rbundler/setup", "-e", COUNT, "#{folder}/segment", env:))
    end
  end

  private

  def copy_to(folder)
    CommittedFiles.paths.each do |path|
      next if path.start_with?("test/", "tiercel-lab/")
      FileUtils.mkdir_p(File.join(folder, File.dirname(path)))
      FileUtils.cp(File.join(ROOT, path), File.join(folder, path))
    end
    folder
  end
end
