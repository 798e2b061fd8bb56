# frozen_string_literal: true

# BUNDLE_GEMFILE is one of tiercel-lab/gemfiles/shop_*.gemfile with a line for the gem tiercel.
require "bundler/setup"
