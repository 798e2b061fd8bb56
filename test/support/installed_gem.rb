# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"
require_relative "committed_files"

# The packaged gem in a separate GEM_HOME, as `gem install` leaves it.
#
#   InstalledGem.open(path: "/nonexistent") { |gem| gem.ruby('require "tiercel"').out }
class InstalledGem
  ROOT = CommittedFiles::ROOT
  NO_BUNDLE = %w[RUBYOPT RUBYLIB BUNDLE_GEMFILE BUNDLER_SETUP RAILS_ENV RACK_ENV].to_h { |name| [name, nil] }.freeze
  GEM = [RbConfig.ruby, "-S", File.join(RbConfig::CONFIG["bindir"], "gem")].freeze
  # The result of a command.
  Ran = Struct.new(:out, :err, :status) do
    def ok? = status.success?
    def to_s = "#{status}\n#{out}\n#{err}"
  end

  # @param plant [Hash{String => String}] text to insert at the beginning of a file, by the file's path
  # @param path [String] the PATH during the installation
  # @yieldparam gem [InstalledGem]
  # @raise [RuntimeError] if the installation fails
  def self.open(plant: {}, path: ENV.fetch("PATH"))
    Dir.mktmpdir("tiercel-installed-") do |folder|
      yield new(File.realpath(folder)).install(plant, path)
    end
  end

  # @return [String] GEM_HOME
  attr_reader :home

  def initialize(folder)
    @folder = folder
    @home = File.join(folder, "home")
  end

  # @return [self]
  def install(plant, path)
    package = build(plant)
    run(*GEM, "install", "--local", "--ignore-dependencies", "--no-document", package, env: { "PATH" => path })
      .then { |ran| raise "gem install failed: #{ran}" unless ran.ok? }
    self
  end

  # @return [String] the folder of the installed gem
  def gem_folder = Dir["#{home}/gems/tiercel-[0-9]*"].first

  # @return [Ran] the result of Ruby code that uses the installed gem
  def ruby(code, *arguments, env: {}) = run(RbConfig.ruby, "-e", code, *arguments, env:)

  private

  def version = File.basename(gem_folder).delete_prefix("tiercel-")

  def gem_path = [home, *Gem.path].join(File::PATH_SEPARATOR)

  def load_path
    others = $LOAD_PATH.map(&:to_s).reject { |folder| folder.start_with?(ROOT) }
    ["#{gem_folder}/lib", "#{ROOT}/test", "#{ROOT}/tiercel-lab/lib", *others]
  end

  def build(plant)
    source = File.join(@folder, "source")
    CommittedFiles.paths.grep_v(%r{\A(test|tiercel-lab)/}).each do |name|
      FileUtils.mkdir_p(File.join(source, File.dirname(name)))
      FileUtils.cp(File.join(ROOT, name), File.join(source, name))
    end
    plant.each { |name, text| File.write(File.join(source, name), text + File.read(File.join(source, name))) }
    package = File.join(@folder, "tiercel.gem")
    built = run(*GEM, "build", "--strict", "tiercel.gemspec", "--output", package, chdir: source)
    raise "gem build failed: #{built}" unless built.ok?
    package
  end

  def run(*command, env: {}, chdir: ROOT)
    Ran.new(*Open3.capture3({ **NO_BUNDLE, "GEM_HOME" => home, "GEM_PATH" => gem_path, **env }, *command, chdir:))
  end
end
