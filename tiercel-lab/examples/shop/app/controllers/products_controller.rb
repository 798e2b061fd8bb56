# frozen_string_literal: true

class ProductsController < ApplicationController
  # 50 fragments, read with one call.
  def index
    @products = Product.first_ones(50)
  end

  # 10 fragments of 8 KB, one after the other.
  def guides
    @products = Product.first_ones(10)
  end

  # 20 values by their records, one after the other.
  def summaries
    @summaries = Product.first_ones(20).map { |product| Rails.cache.fetch([product, "summary"]) { product.summary } }
  end

  # 10 fragments of a round, each of which takes some CPU time. A file counts how often one is rendered.
  def herd
    cpu_ms = -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) }
    @rendered = lambda do
      File.write(ENV.fetch("RENDERINGS", File::NULL), ".", mode: "a")
      until_ms = cpu_ms.call + params[:ms].to_f
      nil while cpu_ms.call < until_ms
    end
  end

  # One fragment, and how often it was seen.
  def show
    @product = Product.find(params[:id])
    @views = Rails.cache.increment("views/#{@product.id}", 1, expires_in: 1.day)
  end
end
