# frozen_string_literal: true

require "test_helper"
require "bundler"
require "open3"
require "rubygems/package"
require_relative "../support/committed_files"
require_relative "../support/installed_gem"
require_relative "../support/unoptimized"

# Installations without a C compiler: of the source gem, which fails, and of a precompiled one; and a gem by its path,
# which nobody compiles.
class WithoutCompilerTest < Tiercel::TestCase
  ROOT = CommittedFiles::ROOT
  NO_BUNDLE = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE BUNDLER_SETUP].to_h { |name| [name, nil] }.freeze
  COUNT = 'require "tiercel"; cache = Tiercel.new("shared:" + ARGV[0], size: "1MB"); print cache.increment("n"), ' \
          'Tiercel::CodecExt.inspect, $LOADED_FEATURES.grep(/(segment|codec)_ext/).join(" ")'

  # @return [String] the command's output
  def run_command(*command, env: {}, **options)
    output, status = Open3.capture2e({ **NO_BUNDLE, **env }, *command, **options)
    assert status.success?, "#{command.join(" ")}\n#{output}"
    output
  end

  def test_the_source_gem_is_not_installed_and_says_what_is_missing
    error = assert_raises(RuntimeError) { InstalledGem.open(path: "/nonexistent") { flunk "it was installed" } }
    assert_match(/^ *Tiercel is not installed, because its C extensions could not be built: The compiler failed/,
                 error.message)
    assert_match(/apt-get install build-essential/, error.message)
  end

  def test_the_reason_is_the_compilers_own
    error = assert_raises(RuntimeError) do
      plant = { "ext/tiercel/codec/codec.c" => "int planted = ;\n" }
      InstalledGem.open(plant:) { flunk "it was installed" }
    end
    assert_match(/could not be built: .*codec\.c:\d+:\d+: error: expected expression/, error.message)
  end

  # Bundler does not compile a gem in a path. The message contains a command, and that command works.
  def test_a_gem_by_its_path_says_what_to_type
    clone = copy_to(File.join(File.realpath(dir), "tiercel"))
    File.write("#{dir}/Gemfile", %(gem "tiercel", path: "#{clone}"\n))
    env = { "BUNDLE_GEMFILE" => "#{dir}/Gemfile" }
    bundled = lambda do
      Open3.capture2e({ **NO_BUNDLE, **env }, RbConfig.ruby, "-rbundler/setup", "-e", COUNT, "#{dir}/segment")
    end
    output, status = bundled.call
    refute status.success?
    command = output[%r{type: ruby (\S+/ext/compile\.rb)}, 1]
    assert_equal "#{clone}/ext/compile.rb", command, output
    run_command(RbConfig.ruby, command, env: UNOPTIMIZED)
    output, status = bundled.call
    assert status.success?, output
    assert_match(/\A1.*#{clone}/, output)
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
