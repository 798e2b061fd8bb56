# frozen_string_literal: true

require "rubygems/package"
require_relative "../ext/compilation"

# Precompiled gems: one for each platform, with the extensions for several minor versions of Ruby.
#
#   rake native                                            a gem for this platform and this minor version of Ruby
#   rake native:compile                                    libraries for this platform and this minor version
#   rake "native:cross[aarch64-linux-gnu,3.3,HEADERS]"     for another one, with Ruby's headers in a folder
#   rake "native:pack[aarch64-linux-gnu]"                  a gem of all compiled libraries of a platform
module PrecompiledLibraries
  FOLDER = "tmp/precompiled"
  # Debian's compilers.
  COMPILERS = { "x86_64-linux-gnu" => "gcc", "aarch64-linux-gnu" => "aarch64-linux-gnu-gcc" }.freeze
  FLAGS = %w[-std=gnu11 -O3 -fPIC -shared -fvisibility=hidden -Wl,--as-needed -DHAVE_STDATOMIC_H=1].freeze
  SOURCES = { "codec" => FileList["ext/tiercel/codec/*.c"], "segment" => ["ext/tiercel/segment/segment_ext.c"] }.freeze

  extend Rake::FileUtilsExt

  module_function

  # @return [String] for example "x86_64-linux-gnu"
  def platform
    local = Gem::Platform.local
    return local.to_s unless local.os == "linux"
    "#{local.cpu}-linux-#{RbConfig::CONFIG["host_os"].include?("musl") ? "musl" : "gnu"}"
  end

  # @return [String] for example "3.3"
  def line = RbConfig::CONFIG["ruby_version"][/\A\d+\.\d+/]

  def folder(platform, line) = "#{FOLDER}/#{platform}/#{line}"

  # Compiles for the Ruby that runs this task.
  def compile
    ENV["TIERCEL_PRECOMPILED"] = "1"
    libraries = Compilation.all.map { |compilation| compilation.into(File.expand_path(folder(platform, line))) }
    sh "strip", "--strip-unneeded", *libraries if platform.include?("linux")
  ensure
    ENV.delete("TIERCEL_PRECOMPILED")
  end

  # Compiles with the headers of another Ruby.
  #
  # @param platform [String] a key of {COMPILERS}
  # @param line [String] a minor version of Ruby
  # @param headers [String] a folder with ruby-LINE.0 and ARCHITECTURE/ruby-LINE.0, as in Debian's packages
  def cross_compile(platform, line, headers)
    compiler = COMPILERS.fetch(platform)
    into = folder(platform, line)
    mkdir_p into
    includes = Dir["#{headers}/ruby-#{line}.0", "#{headers}/*/ruby-#{line}.0"].map { |path| "-I#{path}" }
    SOURCES.each do |name, files|
      library = "#{into}/#{name}_ext.so"
      sh compiler, *FLAGS, *includes, "-o", library, *files, "-lm"
      sh compiler.sub(/gcc\z/, "strip"), "--strip-unneeded", library
    end
  end
end

# The gem for one platform: without C source, with a folder of libraries for each minor version of Ruby.
class PrecompiledGem
  FOLDER = "tmp/precompiled_gem"

  # @param source [Gem::Specification] the gem that is compiled during installation
  # @param platform [String]
  def initialize(source, platform)
    @source = source
    @platform = platform
  end

  # @return [Array<String>] minor versions of Ruby for which there are libraries, in order
  def lines
    @lines ||= Dir["#{PrecompiledLibraries::FOLDER}/#{@platform}/*/segment_ext.*"]
               .map { |path| path.split("/")[-2] }.sort_by { |line| Gem::Version.new(line) }
  end

  # @return [Gem::Specification]
  def specification
    @specification ||= @source.dup.tap do |spec|
      spec.platform = @platform
      spec.required_ruby_version = [">= #{lines.first}", "< #{Gem::Version.new("#{lines.last}.0").bump}.dev"]
      spec.required_rubygems_version = ">= 3.3.22" # earlier ones do not know "gnu" and "musl"
      spec.extensions = []
      spec.dependencies.reject! { |dependency| dependency.name == "rake" }
      spec.files = @source.files.grep_v(%r{\Aext/}) + libraries.keys
    end
  end

  # @param folder [String] the destination folder
  # @return [String] its path
  def build(folder)
    abort "no libraries for #{@platform}: rake native:compile or native:cross" if lines.empty?
    rm_rf FOLDER
    specification.files.each { |file| copy(libraries.fetch(file, file), "#{FOLDER}/#{file}") }
    name = specification.file_name
    cd(FOLDER) { Gem::Package.build(specification, false, true, name) }
    mkdir_p folder
    mv "#{FOLDER}/#{name}", folder
    File.join(folder, name)
  end

  private

  include Rake::FileUtilsExt

  # @return [Hash{String => String}] current paths, by the path in the gem
  def libraries
    lines.flat_map { |line| Dir["#{PrecompiledLibraries.folder(@platform, line)}/*_ext.{so,bundle}"] }
         .to_h { |path| ["lib/tiercel/#{path.split("/").last(2).join("/")}", path] }
  end

  def copy(from, to)
    mkdir_p File.dirname(to), verbose: false
    cp from, to, verbose: false
  end
end

namespace :native do
  task(:compile) { PrecompiledLibraries.compile }

  task :cross, %i[platform line headers] do |_task, arguments|
    PrecompiledLibraries.cross_compile(*arguments.to_h.fetch_values(:platform, :line, :headers))
  end

  task :pack, %i[platform folder] do |_task, arguments|
    gem = PrecompiledGem.new(Gem::Specification.load("tiercel.gemspec"), arguments.fetch(:platform))
    puts gem.build(arguments.fetch(:folder, "pkg"))
  end
end

desc "Build pkg/tiercel-VERSION-PLATFORM.gem (or FOLDER/...), which has the extensions in it"
task :native, [:folder] => "native:compile" do |_task, arguments|
  Rake::Task["native:pack"].invoke(PrecompiledLibraries.platform, arguments.fetch(:folder, "pkg"))
end
