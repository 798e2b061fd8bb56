# frozen_string_literal: true

require "test_helper"
require "open3"
require "rubygems/package"
require_relative "../support/gem_server"
require_relative "../support/installed_gem"
require_relative "../support/unoptimized"

# Precompiled gems: their content, and Bundler's choice between them and the gem that is compiled.
class PrecompiledTest < Tiercel::TestCase
  ROOT = CommittedFiles::ROOT
  NEWEST_GLIBC = Gem::Version.new("2.34")
  LINE = RbConfig::CONFIG["ruby_version"][/\A\d+\.\d+/]
  ARM64 = "aarch64-linux-gnu"
  USE = 'require "tiercel"; print Tiercel.new("shared:#{ARGV[0]}", size: "1MB").increment("n"), ' \
        '" ", !defined?(Tiercel::CodecExt).nil?, " ", $LOADED_FEATURES.grep(/(codec|segment)_ext\./).join(" ")'

  class << self
    # @return [Hash{Symbol => String}] paths of the gems: :source, :native, and :arm64 if its compiler is installed
    def gems
      @gems ||= begin
        folder = Dir.mktmpdir("tiercel-gems-")
        Minitest.after_run { FileUtils.rm_rf(folder) }
        run!(*InstalledGem::GEM, "build", "tiercel.gemspec", "--output", "#{folder}/tiercel.gem")
        rake("native[#{folder}]")
        build_for_arm64(folder) if cross_compiler?
        { source: "#{folder}/tiercel.gem", native: Dir["#{folder}/*-#{Gem::Platform.local.cpu}-*.gem"].first,
          arm64: Dir["#{folder}/*-#{ARM64}.gem"].first }.compact
      end
    end

    def run!(*command, env: {}, chdir: ROOT)
      output, status = Open3.capture2e({ **InstalledGem::NO_BUNDLE, **env }, *command, chdir:)
      raise "#{command.join(" ")}\n#{output}" unless status.success?
      output
    end

    private

    def rake(task)
      run!(RbConfig.ruby, "-S", "bundle", "exec", "rake", task, env: { "BUNDLE_GEMFILE" => File.join(ROOT, "Gemfile") })
    end

    def cross_compiler?
      ENV["TIERCEL_LONG"] == "1" && system("#{ARM64}-gcc", "--version", out: File::NULL, err: File::NULL)
    end

    def build_for_arm64(folder)
      headers = run!("#{ROOT}/bin/support/ruby_headers", "arm64", LINE, "trixie").lines.last.chomp
      rake("native:cross[#{ARM64},#{LINE},#{headers}]")
      rake("native:pack[#{ARM64},#{folder}]")
    end
  end

  def gem(name) = self.class.gems[name] || skip("--long, with the packages of bin/setup long")

  def spec(name) = Gem::Package.new(gem(name)).spec

  def test_a_gem_has_libraries_for_lines_of_ruby_and_is_bounded_by_them
    files = spec(:native).files
    assert_equal %W[lib/tiercel/#{LINE}/codec_ext.so lib/tiercel/#{LINE}/segment_ext.so], files.grep(/\.so\z/).sort
    assert_empty files.grep(%r{\Aext/|\.(c|h|o)\z})
    requirement = spec(:native).required_ruby_version
    assert requirement.satisfied_by?(Gem::Version.new(RUBY_VERSION))
    refute requirement.satisfied_by?(Gem::Version.new("#{LINE}.0").bump), requirement
    assert_empty spec(:native).dependencies.map(&:name) - ["activesupport"]
    assert_includes spec(:source).dependencies.map(&:name), "rake"
  end

  %i[native arm64].each do |name|
    define_method("test_#{name}_needs_no_newer_glibc_and_no_libruby") do
      with_libraries(name) do |library|
        symbols = command("objdump", "-T", library)
        versions = symbols.scan(/GLIBC_([\d.]+)/).flatten.uniq.map { |version| Gem::Version.new(version) }
        assert_operator versions.max, :<=, NEWEST_GLIBC, symbols[/.*GLIBC_#{versions.max}.*/]
        needed = command("objdump", "-p", library)
        refute_match(/libruby|RUNPATH|RPATH/, needed)
      end
    end
  end

  def test_bundler_takes_the_gem_of_the_platform_and_needs_no_compiler
    GemServer.run(self.class.gems.values) do |server|
      with_bundle(server) do |folder, home|
        command(*BUNDLE, "install", env: bundle(folder, home).merge("PATH" => "/nonexistent"))
        assert_match(/tiercel \(\S+-#{Gem::Platform.local.cpu}-linux-gnu\)/, File.read("#{folder}/Gemfile.lock"))
        assert_equal 1, server.requests.grep(%r{/gems/tiercel-.*linux-gnu}).size
        assert_match(%r{\A1 true \S+/lib/tiercel/#{LINE}/codec_ext\.so \S+/lib/tiercel/#{LINE}/segment_ext\.so\z},
                     use(folder, home))
      end
    end
  end

  def test_bundler_falls_back_to_the_source_where_no_gem_is_for_the_platform
    GemServer.run(self.class.gems.values_at(:source, :arm64).compact) do |server|
      with_bundle(server) do |folder, home|
        command(*BUNDLE, "install", env: bundle(folder, home).merge(UNOPTIMIZED))
        refute_match(/tiercel \(\S+linux/, File.read("#{folder}/Gemfile.lock"))
        assert_match(%r{\A1 true \S+/extensions/\S+/tiercel/codec_ext\.so}, use(folder, home))
      end
    end
  end

  private

  BUNDLE = [RbConfig.ruby, "-S", File.join(RbConfig::CONFIG["bindir"], "bundle")].freeze
  private_constant :BUNDLE

  def command(...) = self.class.run!(...)

  def with_bundle(server)
    with_tmpdir do |folder|
      folder = File.realpath(folder)
      File.write("#{folder}/Gemfile", %(source "#{server.url}"\ngem "tiercel"\n))
      yield folder, "#{folder}/home"
    end
  end

  # The other gems come from this machine.
  def bundle(folder, home)
    { "BUNDLE_GEMFILE" => "#{folder}/Gemfile", "GEM_HOME" => home, "GEM_PATH" => [home, *Gem.path].join(":"),
      "BUNDLE_APP_CONFIG" => "#{folder}/.bundle", "HOME" => folder, "BUNDLE_USER_HOME" => "#{folder}/user" }
  end

  def use(folder, home)
    command(RbConfig.ruby, "-rbundler/setup", "-e", USE, "#{folder}/segment", env: bundle(folder, home))
  end

  def with_libraries(name)
    with_tmpdir do |folder|
      Gem::Package.new(gem(name)).extract_files(folder)
      libraries = Dir["#{folder}/lib/tiercel/*/*_ext.so"]
      assert_equal 2, libraries.size
      libraries.each { |library| yield library }
    end
  end
end
