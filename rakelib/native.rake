# frozen_string_literal: true

require "rubygems/package"

# The gem with the extensions in it, compiled for this Ruby line, C library and processor.
class NativeGem
  FOLDER = "tmp/native_gem"

  # @param source [Gem::Specification] of the gem that is compiled where it is installed
  def initialize(source)
    @source = source
  end

  # @return [String] such as "x86_64-linux-gnu"
  def platform
    local = Gem::Platform.local
    return local.to_s unless local.os == "linux"
    "#{local.cpu}-linux-#{RbConfig::CONFIG["host_os"].include?("musl") ? "musl" : "gnu"}"
  end

  # A library of one Ruby line is of no use to another; what it was compiled from stays out.
  #
  # @return [Gem::Specification]
  def specification
    @source.dup.tap do |spec|
      spec.platform = platform
      spec.required_ruby_version = "~> #{RbConfig::CONFIG["ruby_version"]}"
      spec.required_rubygems_version = ">= 3.3.22" # earlier ones do not know "gnu" and "musl"
      spec.extensions = []
      spec.files = @source.files.grep_v(%r{\Aext/}) + libraries
    end
  end

  # @param folder [String] where the gem goes
  # @return [String] its path
  def build(folder)
    rm_rf FOLDER
    specification.files.each do |file|
      mkdir_p File.dirname("#{FOLDER}/#{file}"), verbose: false
      cp file, "#{FOLDER}/#{file}", verbose: false
    end
    libraries.each { |library| sh "strip", "--strip-unneeded", "#{FOLDER}/#{library}" } if platform.include?("linux")
    name = specification.file_name
    cd(FOLDER) { Gem::Package.build(specification, false, true, name) }
    mkdir_p folder
    mv "#{FOLDER}/#{name}", folder
    File.join(folder, name)
  end

  private

  include Rake::FileUtilsExt

  def libraries = Dir["lib/tiercel/*_ext.{so,bundle}"]
end

desc "Build pkg/tiercel-VERSION-PLATFORM.gem (or FOLDER/...), which has the extensions for this Ruby in it"
task :native, [:folder] => :compile do |_task, arguments|
  puts NativeGem.new(Gem::Specification.load("tiercel.gemspec")).build(arguments.fetch(:folder, "pkg"))
end
