# frozen_string_literal: true

require_relative "lib/tiercel/version"

Gem::Specification.new do |spec|
  spec.name = "tiercel"
  spec.version = Tiercel::VERSION
  spec.authors = ["The Tiercel developers"]
  spec.summary = "One cache for all processes of a machine, and one store over every backend"
  spec.description = "A Rails cache store over shared memory, files, SQLite, memcached and Redis. " \
                     "Its default keeps one cache for every process of a machine, without a server."
  spec.homepage = "https://github.com/tiercel/tiercel"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.3"
  spec.metadata = {
    "rubygems_mfa_required" => "true",
    "changelog_uri" => "#{spec.homepage}/blob/main/CHANGELOG.md",
    "documentation_uri" => "#{spec.homepage}/tree/main/docs",
  }

  spec.files = Dir.chdir(__dir__) do
    files = Dir["lib/**/*.{rb,rake,tt,erb,css,js,svg}", "ext/**/{*.{c,h,rb},depend,Rakefile}",
                "docs/*.{md,svg}", "{README,CHANGELOG,SECURITY}.md", "LICENSE"]
    files.reject { |path| path.match?(%r{\Aext/.*/(test|fuzz|bench)/}) }
  end
  spec.require_paths = ["lib"]
  spec.extensions = ["ext/Rakefile"]

  spec.add_dependency "activesupport", ">= 7.2", "< 9" # newer than the suites run on: Railtie says so
  spec.add_dependency "rake", ">= 12", "< 15" # runs ext/Rakefile; some Rubies come without it
end
